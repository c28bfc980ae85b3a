import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

const CHUNK_BYTES = 1024 * 1024

/** Returns the SHA-256 of a file, or of its bytes from `start` to `end` inclusive. */
export async function digestOf(
  file: string,
  range: { start?: number; end?: number } = {},
  signal?: AbortSignal,
): Promise<string> {
  const digest = createHash('sha256')
  const stream = createReadStream(file, { ...range, highWaterMark: CHUNK_BYTES })
  await pipeline(stream, digest, { signal })
  return digest.digest('hex')
}
