import { EventEmitter, once } from 'node:events'
import type { CompletedPart } from '@aws-sdk/client-s3'
import type { Bytes } from '@godwit/lib/bytes'
import { onChunk } from '@godwit/lib/chunks'
import { mapConcurrent } from '@godwit/lib/turns'
import { BlobExists, type PutOptions } from './blob-store.ts'
import { abortOptions, type Bucket, isS3Error, objectOf, promptOptions } from './s3-bucket.ts'

/*
 * Why not `@aws-sdk/lib-storage`: an exporter with four threads must fit on a small machine, and a blob may have 5 TiB. The
 * library needs one part size for the whole upload (5 MiB parts end at 49 GiB, 64 MiB parts at 625 GiB) and allocates each part
 * anew. Memory above the start of the process, measured in November 2026 with version 3.1164.0:
 *
 *                                   lib-storage   this file
 *   one upload, parts of 5 MiB         75 MiB      23 MiB
 *   one upload, parts of 64 MiB       262 MiB      23 MiB
 *   four uploads, parts of 5 MiB      132 MiB      26 MiB
 */

/** Identifies a multipart upload. */
export interface Upload {
  Bucket: string
  Key: string
  UploadId: string
}

interface PartsToSend<Part> {
  parts: Iterable<Part> | AsyncIterable<Part>
  /** Sends a part and returns its entity tag. */
  send(part: Part, to: Upload & { PartNumber: number }, signal: AbortSignal): Promise<string>
  concurrency: number
  signal: AbortSignal | undefined
}

/** Creates an object from parts. It becomes visible when all parts were sent; if one fails, the upload is aborted. */
export async function uploadParts<Part>(
  bucket: Bucket,
  key: string,
  { parts, send, concurrency, signal }: PartsToSend<Part>,
): Promise<void> {
  const object = objectOf(bucket, key)
  const { UploadId } = await bucket.s3.createMultipartUpload(object, promptOptions(signal))
  const upload = { ...object, UploadId: UploadId! }
  try {
    const options = { concurrency, signal }
    const sent = await mapConcurrent(parts, options, async (part, stop, index) => {
      const PartNumber = index + 1
      return { PartNumber, ETag: await send(part, { ...upload, PartNumber }, stop) }
    })
    await complete(bucket, key, upload, sent)
  } catch (error) {
    // If this fails too, the sweep aborts the upload.
    await bucket.s3.abortMultipartUpload(upload).catch(() => {})
    throw error
  }
}

async function complete({ s3 }: Bucket, key: string, upload: Upload, Parts: CompletedPart[]) {
  const { Bucket, Key } = upload
  // Some servers ignore IfNoneMatch on completion. For them, checking just before is enough: each key belongs to one attempt.
  const exists = await s3.headObject({ Bucket, Key }, promptOptions()).then(
    () => true,
    (error: unknown) => {
      if (isS3Error(error, 'NotFound', 'NoSuchKey')) return false
      throw error
    },
  )
  if (exists) throw new BlobExists(key)
  await s3
    .completeMultipartUpload({ ...upload, MultipartUpload: { Parts }, IfNoneMatch: '*' })
    .catch(asBlobExists(key))
}

function asBlobExists(key: string): (error: unknown) => never {
  return (error) => {
    throw isS3Error(error, 'PreconditionFailed') ? new BlobExists(key, { cause: error }) : error
  }
}

/** Creates an object in one request. */
export async function putObject(
  bucket: Bucket,
  key: string,
  Body: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  const request = { ...objectOf(bucket, key), Body, IfNoneMatch: '*' }
  await bucket.s3.putObject(request, abortOptions(signal)).catch(asBlobExists(key))
}

/**
 * Reusable memory for parts: buffers that are allocated for each request would pile up as tens of megabytes of garbage before
 * they are collected. `acquire` waits while the pool is used up, so parts use no more memory than the pool's size, except for a
 * single part that is larger than the pool. Free parts are collected with other garbage.
 */
export class PartPool {
  readonly #size: number
  readonly #free: WeakRef<Buffer>[] = []
  #used = 0
  readonly #releases = new EventEmitter().setMaxListeners(0)

  constructor(size: number) {
    this.#size = size
  }

  async acquire(size: number, signal?: AbortSignal): Promise<Buffer> {
    while (this.#used > 0 && this.#used + size > this.#size)
      await once(this.#releases, 'release', { signal }).catch(() => signal?.throwIfAborted())
    this.#used += size
    const free = this.#free.pop()?.deref()
    // A free part of another size is dropped, so that it does not add to the memory in use.
    return free?.length === size ? free : Buffer.allocUnsafeSlow(size)
  }

  release(part: Buffer): void {
    this.#used -= part.length
    if (part.length <= this.#size) this.#free.push(new WeakRef(part))
    this.#releases.emit('release')
  }
}

const MEBIBYTE = 1024 * 1024

/** For all uploads of one thread. Holds two of the smallest parts that servers accept. */
export const PART_POOL = new PartPool(10 * MEBIBYTE)
/** For bytes that come from another host, which may be slow: such uploads delay only each other. */
const SLOW_PART_POOL = new PartPool(10 * MEBIBYTE)

/** More would not fit into the pool. */
const PART_CONCURRENCY = 2

/**
 * Parts are held in memory, so that each can be signed and sent again, and the number of parts is not known in advance. So they
 * are as small as possible for the first 15 GiB of a blob and grow after that: 10,000 parts must reach 5 TiB.
 */
export function partSize(number: number): number {
  return PART_SIZES.find(({ upTo }) => number <= upTo)!.mebibytes * MEBIBYTE
}

const PART_SIZES = [
  { upTo: 3200, mebibytes: 5 },
  { upTo: 4800, mebibytes: 64 },
  { upTo: Number.POSITIVE_INFINITY, mebibytes: 1024 },
]

/** Sends a small blob in one request, and a large one in parts. Most blobs are small. */
export async function putStream(
  bucket: Bucket,
  key: string,
  bytes: Bytes,
  { signal, isSlow = false }: PutOptions,
): Promise<void> {
  const pool = isSlow ? SLOW_PART_POOL : PART_POOL
  const held = new Set<Buffer>()
  const release = (part: Buffer) => {
    if (held.delete(part)) pool.release(part)
  }
  const small = spareBuffers.pop() ?? Buffer.allocUnsafeSlow(MAX_SMALL_BLOB)
  const checked = onChunk(bytes, () => signal?.throwIfAborted())
  const parts = fillParts(checked, small, async (size) => {
    const part = await pool.acquire(size, signal)
    held.add(part)
    return part
  })
  try {
    const { value: first = Buffer.of() } = await parts.next()
    if (first.length < partSize(1)) return await putObject(bucket, key, first, signal)
    await uploadParts(bucket, key, {
      parts: withFirst(first, parts),
      send: async (Body, to, stop) => {
        try {
          const { ETag } = await bucket.s3.uploadPart({ ...to, Body }, abortOptions(stop))
          return ETag!
        } finally {
          // The next part may be waiting for this memory.
          release(Body)
        }
      },
      concurrency: PART_CONCURRENCY,
      signal,
    })
  } finally {
    await parts.return(undefined)
    for (const part of held) release(part)
    if (spareBuffers.length < MAX_SPARE_BUFFERS) spareBuffers.push(small)
  }
}

/** Up to this size a blob does not wait for a part from the pool. */
const MAX_SMALL_BLOB = MEBIBYTE
/** Memory for small blobs, reused like that of the pool. */
const spareBuffers: Buffer[] = []
const MAX_SPARE_BUFFERS = 4

/** Copies the bytes into parts, first into the given buffer. All parts but the last are full. */
async function* fillParts(
  bytes: Bytes,
  small: Buffer,
  acquire: (size: number) => Promise<Buffer>,
): AsyncGenerator<Buffer, undefined> {
  let number = 1
  let size = partSize(number)
  let part = small
  let filled = 0
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + size - filled)
      const needed = filled + piece.length
      if (needed > part.length) {
        const larger = await acquire(size)
        larger.set(part.subarray(0, filled))
        part = larger
      }
      part.set(piece, filled)
      filled = needed
      at += piece.length
      if (filled < size) continue
      yield part
      size = partSize(++number)
      part = Buffer.of()
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}

async function* withFirst(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}
