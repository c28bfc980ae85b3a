import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { UserMistake } from '../user-mistake.ts'

/** Opened when first read, so that a file that cannot be is the reader's failure. */
export async function* archiveFile(file: string): AsyncGenerator<Uint8Array> {
  if (file !== '-' && (await stat(file)).isDirectory())
    throw new UserMistake(`${file} is a directory, not an archive`)
  yield* file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
}
