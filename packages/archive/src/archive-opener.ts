import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Bytes } from '@godwit/lib/bytes'
import type { Folder } from './tar/read-folder.ts'

/**
 * Returns a function that opens an archive. `path` is an archive file, a directory with the unpacked archive, or `-` for standard
 * input, which can be read only once. Rejects if the path does not exist.
 */
export async function archiveOpener(path: string): Promise<() => Bytes | Folder> {
  if (path === '-') return () => process.stdin
  if ((await stat(path)).isDirectory()) return () => ({ folder: path })
  return () => createReadStream(path, { highWaterMark: 256 * 1024 })
}
