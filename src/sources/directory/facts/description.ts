import { join } from 'node:path'
import { hasCode } from '../../../ground/errno.ts'
import { oneLine } from '../../../ground/one-line.ts'
import { readSmallFile } from '../own-file.ts'
import { type Settings, setting } from './repository-settings.ts'

const LONGEST_DESCRIPTION = 4096

/** What gitweb and cgit show: the file, unless it is as `git init` left it, else `gitweb.description`. */
export async function readDescription(dir: string, settings: Settings): Promise<string> {
  const written = describedBy(await descriptionFile(dir))
  return written || oneLine(setting(settings, 'gitweb.description') ?? '')
}

async function descriptionFile(dir: string): Promise<Buffer> {
  try {
    return await readSmallFile(join(dir, 'description'), LONGEST_DESCRIPTION)
  } catch (error) {
    // None, or a link, which could lead to any file of this machine, or no file at all.
    if (hasCode(error, 'ENOENT', 'ELOOP', 'EISDIR')) return Buffer.alloc(0)
    throw error
  }
}

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
