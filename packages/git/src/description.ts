import { oneLine } from '@godwit/lib/terminal-text'

/** Only this many bytes of the file are read. */
export const MAX_DESCRIPTION_BYTES = 4096

/** Returns the content of the file `description` on one line; empty for the default text of `git init`. */
export function parseDescription(file: Buffer): string {
  const text = oneLine(decode(file))
  return /^Unnamed repository; edit this file/.test(text) ? '' : text
}

/** Decodes UTF-8, otherwise Latin-1. Omits a character that the limit has cut in two. */
function decode(file: Buffer): string {
  try {
    const isCut = file.length === MAX_DESCRIPTION_BYTES
    return new TextDecoder('utf-8', { fatal: true }).decode(file, { stream: isCut })
  } catch {
    return file.toString('latin1')
  }
}
