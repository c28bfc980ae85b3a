import { createReadStream } from 'node:fs'

/** Opened when first read, so that a file that cannot be is the reader's failure. */
export async function* archiveFile(file: string): AsyncGenerator<Uint8Array> {
  yield* file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
}
