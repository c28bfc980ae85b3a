import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { parsePeopleCsv } from '../formats/people.ts'
import type { Report } from '../formats/report.ts'

/**
 * Returns a function that opens an archive. `path` is an archive file, a directory with the unpacked archive, or `-` for standard
 * input, which can be read only once. Rejects if the path does not exist.
 */
export async function archiveOpener(path: string): Promise<() => Bytes | Folder> {
  if (path === '-') return () => process.stdin
  if ((await stat(path)).isDirectory()) return () => ({ folder: path })
  return () => createReadStream(path, { highWaterMark: 256 * 1024 })
}

/** Reads the file of `--people`. Mistakes in it are reported as warnings. */
export async function readPeople(
  file: string | undefined,
  refusal: (login: string) => string | undefined,
  report: Report,
) {
  if (file === undefined) return new Map()
  const { people, warnings } = parsePeopleCsv(await readFile(file, 'utf8'), refusal)
  for (const warning of warnings) report.warn('people', `${file}, ${warning}`)
  return people
}
