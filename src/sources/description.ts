import { oneLine } from '../lib/one-line.ts'

/** No more of the file is read. */
export const LONGEST_DESCRIPTION = 4096

/** What the file `description` says; nothing where it is as `git init` left it. */
export function describedBy(file: Buffer): string {
  const text = oneLine(decoded(file))
  return /^Unnamed repository; edit this file/.test(text) ? '' : text
}

/** UTF-8, or what was usual before it; a character that the limit cut in two is left out. */
function decoded(file: Buffer): string {
  try {
    const isCut = file.length === LONGEST_DESCRIPTION
    return new TextDecoder('utf-8', { fatal: true }).decode(file, { stream: isCut })
  } catch {
    return file.toString('latin1')
  }
}
