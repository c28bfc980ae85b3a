import type { Bytes, PutOptions } from './blob-store.ts'
import type { Bucket } from './s3-bucket.ts'
import { abortedBy, asBlobExists, assemble } from './s3-multipart.ts'
import { partBufferFor } from './s3-part-buffer.ts'

const MEBIBYTE = 1024 * 1024
const FIRST_ROOM = 64 * 1024
/** A blob that is larger gets memory for a whole part. */
const SMALL_BLOB = MEBIBYTE
/** On their way at once, while the next is filled: no more than there is room for. */
const LANES = 2

/**
 * Parts are held in memory, so that each can be signed and sent again, and nobody knows how many there will be. So they
 * are as small as may be for the first 15 GiB of a blob and grow from there: 10,000 of them must reach 5 TiB.
 */
export function partSize(number: number): number {
  return PART_SIZES.find(({ upTo }) => number <= upTo)!.mebibytes * MEBIBYTE
}

const PART_SIZES = [
  { upTo: 3200, mebibytes: 5 },
  { upTo: 4800, mebibytes: 64 },
  { upTo: Number.POSITIVE_INFINITY, mebibytes: 1024 },
]

/** Most blobs are small and go in one request; the others in parts. */
export async function putStreamed(
  bucket: Bucket,
  key: string,
  bytes: Bytes,
  options: PutOptions,
): Promise<void> {
  const { signal } = options
  const room = partBufferFor(options)
  const held = new Set<Buffer>()
  const giveBack = (part: Buffer) => {
    if (held.delete(part)) room.giveBack(part)
  }
  const parts = filledParts(bytes, signal, async (size) => {
    const part = await room.take(size, signal)
    held.add(part)
    return part
  })
  try {
    const { value: first = Buffer.of() } = await parts.next()
    if (first.length < partSize(1)) return await putWhole(bucket, key, first, signal)
    await assemble(bucket, key, {
      parts: withFirst(first, parts),
      send: async (Body, to, stop) => {
        try {
          const { ETag } = await bucket.s3.uploadPart({ ...to, Body }, abortedBy(stop))
          return ETag!
        } finally {
          // Whoever fills the next part may be waiting for it.
          giveBack(Body)
        }
      },
      lanes: LANES,
      signal,
    })
  } finally {
    await parts.return(undefined)
    for (const part of held) giveBack(part)
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
  await s3.putObject(object, abortedBy(signal)).catch(asBlobExists(key))
}

/** All are full but the last. */
async function* filledParts(
  bytes: Bytes,
  signal: AbortSignal | undefined,
  take: (size: number) => Promise<Buffer>,
): AsyncGenerator<Buffer, undefined> {
  let number = 1
  let size = partSize(number)
  let part: Buffer = Buffer.allocUnsafe(FIRST_ROOM)
  let filled = 0
  for await (const chunk of bytes) {
    signal?.throwIfAborted()
    for (let at = 0; at < chunk.length; ) {
      const some = chunk.subarray(at, at + size - filled)
      if (filled + some.length > part.length) {
        const isSmall = number === 1 && filled + some.length <= SMALL_BLOB
        const roomier = isSmall ? growing(filled + some.length) : await take(size)
        roomier.set(part.subarray(0, filled))
        part = roomier
      }
      part.set(some, filled)
      filled += some.length
      at += some.length
      if (filled < size) continue
      yield part
      number += 1
      size = partSize(number)
      part = NOTHING
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}

const NOTHING = Buffer.alloc(0)

/** The first part grows with what it holds: a thousand small blobs must not take the room of a thousand parts. */
const growing = (bytes: number): Buffer => Buffer.allocUnsafe(Math.min(2 * bytes, SMALL_BLOB))

async function* withFirst(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}
