import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Folder } from '../archive/read-folder.ts'
import type { Bytes } from '../blobs/blob-store.ts'

/** Returns a function that opens the archive: a file, standard input (-), or a directory that it was unpacked into. */
export async function archiveAt(name: string): Promise<() => Bytes | Folder> {
  if (name === '-') return () => process.stdin
  if ((await stat(name)).isDirectory()) return () => ({ folder: name })
  return () => createReadStream(name, { highWaterMark: 256 * 1024 })
}
