import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import type { Folder } from '../archive/read-folder.ts'
import { type PeopleMap, parsePeopleCsv } from '../formats/people.ts'
import type { Bytes } from '../lib/bytes.ts'
import { UserError } from '../lib/user-error.ts'

/** Describes the argument of a command that reads an archive. */
export const ARCHIVE = 'a file, or a directory that it was unpacked into'
export const ARCHIVE_OR_STDIN = `${ARCHIVE}; - for standard input`

/**
 * Returns a function that opens an archive. `path` is an archive file, a directory with the unpacked archive, or `-` for standard
 * input, which can be read only once. Rejects if the path does not exist.
 */
export async function archiveOpener(path: string): Promise<() => Bytes | Folder> {
  if (path === '-') return () => process.stdin
  if ((await stat(path)).isDirectory()) return () => ({ folder: path })
  return () => createReadStream(path, { highWaterMark: 256 * 1024 })
}

/** Reads the file of `--people`. Mistakes in it are reported as warnings. Throws UserError if it has values that cannot be logins. */
export async function readPeople(
  file: string | undefined,
  refusal: (login: string) => string | undefined,
  warn: (warning: string) => void,
): Promise<PeopleMap> {
  if (file === undefined) return new Map()
  const text = await readFile(file, 'utf8')
  try {
    const { people, warnings } = parsePeopleCsv(text, refusal)
    for (const warning of warnings) warn(`${file}, ${warning}`)
    return people
  } catch (error) {
    if (error instanceof UserError) error.message = `${file}, ${error.message}`
    throw error
  }
}
