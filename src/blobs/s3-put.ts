import type { Bytes } from './blob-store.ts'
import type { Bucket } from './s3-bucket.ts'
import { abortedBy, assemble, asTaken } from './s3-multipart.ts'

const MEBIBYTE = 1024 * 1024
const FIRST_ROOM = 64 * 1024
const LANES = 3

/**
 * Parts are held in memory, so that each can be signed and sent again, and nobody knows how many there will be. So they
 * are of 16 MiB for the first 14 GiB of a blob and grow from there: 10,000 of them must reach 5 TiB.
 */
export function partSize(number: number): number {
  return 16 * MEBIBYTE * 2 ** Math.min(6, Math.floor(number / 900))
}

/** Most blobs are small and go in one request; the others in parts. */
export async function putStreamed(
  bucket: Bucket,
  key: string,
  bytes: Bytes,
  signal: AbortSignal | undefined,
): Promise<void> {
  const parts = filledParts(bytes, signal)
  try {
    const { value: first = Buffer.of() } = await parts.next()
    if (first.length < partSize(1)) return await putWhole(bucket, key, first, signal)
    await assemble(bucket, key, {
      parts: withFirst(first, parts),
      send: async (Body, to, stop) => {
        const { ETag } = await bucket.s3.uploadPart({ ...to, Body }, abortedBy(stop))
        return ETag!
      },
      lanes: LANES,
      signal,
    })
  } finally {
    await parts.return(undefined)
  }
}

export async function putWhole(
  { s3, name, prefix }: Bucket,
  key: string,
  Body: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  const object = { Bucket: name, Key: prefix + key, Body, IfNoneMatch: '*' }
  await s3.putObject(object, abortedBy(signal)).catch(asTaken(key))
}

/** All are full but the last. */
async function* filledParts(
  bytes: Bytes,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, undefined> {
  let number = 1
  let size = partSize(number)
  let part: Buffer = Buffer.allocUnsafe(FIRST_ROOM)
  let filled = 0
  for await (const chunk of bytes) {
    signal?.throwIfAborted()
    for (let at = 0; at < chunk.length; ) {
      const taken = chunk.subarray(at, at + size - filled)
      if (filled + taken.length > part.length) part = roomier(part, filled, taken.length, size)
      part.set(taken, filled)
      filled += taken.length
      at += taken.length
      if (filled < size) continue
      yield part
      number += 1
      size = partSize(number)
      part = Buffer.allocUnsafe(size)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}

/** The first part grows with what it holds: a thousand small blobs must not take the room of a thousand parts. */
function roomier(part: Buffer, filled: number, more: number, most: number): Buffer {
  const grown = Buffer.allocUnsafe(Math.min(most, Math.max(2 * part.length, filled + more)))
  grown.set(part.subarray(0, filled))
  return grown
}

async function* withFirst(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}
