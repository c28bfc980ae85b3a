import type { ByteRange } from '@godwit/lib/bytes'
import { mapConcurrent } from '@godwit/lib/turns'
import type { BlobPart } from './blob-store.ts'
import { abortOptions, asBlobNotFound, type Bucket, objectOf, openObject } from './s3-bucket.ts'
import { PART_POOL, putObject, type Upload, uploadParts } from './s3-upload.ts'

/** The limits of a server for one multipart upload. The last part may be smaller than the minimum. */
interface PartLimits {
  minBytes: number
  maxBytes: number
  maxParts: number
}

/** S3 copies up to 5 GiB per request. With 1 GiB, a request does not stay silent for long, and several run concurrently. */
export const S3_LIMITS: PartLimits = {
  minBytes: 5 * 1024 ** 2,
  maxBytes: 1024 ** 3,
  maxParts: 10_000,
}

type Piece = { bytes: Uint8Array } | { key: string; range: ByteRange }

/** A part that the server copies from another object, or one that this process uploads. */
export type PlannedPart = CopiedPart | UploadedPart

interface CopiedPart {
  kind: 'copied'
  key: string
  range: ByteRange
  isWholeObject: boolean
  length: number
}

interface UploadedPart {
  kind: 'uploaded'
  pieces: Piece[]
  length: number
}

/** How many parts are sent concurrently. An uploaded part takes `minBytes` of memory, a copied part none. */
const PART_CONCURRENCY = 4
/** How many blobs of one uploaded part are read concurrently. A part may consist of a thousand small blobs. */
const READ_CONCURRENCY = 16

/**
 * Creates an object from the sources. The server copies large ones; small ones are read and uploaded. Returns false, without
 * creating anything, if one upload cannot have so many parts: only an archive of thousands of large repositories has more.
 */
export async function composeObject(
  bucket: Bucket,
  key: string,
  sources: readonly BlobPart[],
  limits: PartLimits,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const parts = planParts(sources, limits)
  if (parts.length > limits.maxParts) return false
  const [first, ...more] = parts
  if (more.length === 0 && first?.kind !== 'copied') {
    const bytes = first ? await readPart(bucket, first, signal) : Buffer.of()
    await putObject(bucket, key, bytes, signal)
  } else {
    await uploadParts(bucket, key, {
      parts,
      send: (part, to, stop) =>
        part.kind === 'copied'
          ? copyPart(bucket, part, to, stop)
          : uploadPart(bucket, part, to, stop),
      concurrency: PART_CONCURRENCY,
      signal,
    })
  }
  return true
}

/**
 * Plans the parts of an upload that is the concatenation of the sources. A source that is too small for a part is uploaded,
 * together with as much of the next sources as makes a part of `minBytes`.
 */
export function planParts(
  sources: readonly BlobPart[],
  { minBytes, maxBytes }: Omit<PartLimits, 'maxParts'>,
): PlannedPart[] {
  const parts: PlannedPart[] = []
  let pieces: Piece[] = []
  let uploaded = 0

  function flush(): void {
    if (uploaded > 0) parts.push({ kind: 'uploaded', pieces, length: uploaded })
    pieces = []
    uploaded = 0
  }

  /** Fills the uploaded part up to `minBytes` and returns the offset where the source continues. */
  function addToUpload(source: BlobPart, start: number): number {
    const end = Math.min(source.length, start + minBytes - uploaded)
    if (end > start) pieces.push(pieceOf(source, { start, end }))
    uploaded += end - start
    if (uploaded === minBytes) flush()
    return end
  }

  for (const source of sources) {
    let at = 0
    while (at < source.length) {
      const canBeCopied = 'key' in source && uploaded === 0 && source.length - at >= minBytes
      if (!canBeCopied) {
        at = addToUpload(source, at)
        continue
      }
      parts.push(...planCopies(source, at, maxBytes))
      at = source.length
    }
  }
  flush()
  return parts
}

function pieceOf(source: BlobPart, range: ByteRange): Piece {
  return 'bytes' in source
    ? { bytes: source.bytes.subarray(range.start, range.end) }
    : { key: source.key, range }
}

/** The copies have about the same length, so that none is too small. */
function* planCopies(
  { key, length }: { key: string; length: number },
  from: number,
  maxBytes: number,
): Generator<CopiedPart> {
  const bytes = length - from
  const count = Math.ceil(bytes / maxBytes)
  const minLength = Math.floor(bytes / count)
  const remainder = bytes % count
  // The first `remainder` copies are one byte longer than `minLength`.
  const startOf = (n: number) => from + n * minLength + Math.min(n, remainder)
  for (let n = 0; n < count; n += 1) {
    const range = { start: startOf(n), end: startOf(n + 1) }
    const isWholeObject = from === 0 && count === 1
    yield { kind: 'copied', key, range, isWholeObject, length: range.end - range.start }
  }
}

type Destination = Upload & { PartNumber: number }

async function copyPart(
  bucket: Bucket,
  { key, range, isWholeObject }: CopiedPart,
  to: Destination,
  signal: AbortSignal,
): Promise<string> {
  const { Bucket, Key } = objectOf(bucket, key)
  const { CopyPartResult } = await bucket.s3
    .uploadPartCopy(
      {
        ...to,
        CopySource: [Bucket, ...Key.split('/')].map(encodeURIComponent).join('/'),
        // S3 accepts ranges only of objects that are larger than 5 MiB.
        ...(!isWholeObject && { CopySourceRange: `bytes=${range.start}-${range.end - 1}` }),
      },
      abortOptions(signal),
    )
    .catch(asBlobNotFound(key))
  return CopyPartResult!.ETag!
}

async function uploadPart(
  bucket: Bucket,
  part: UploadedPart,
  to: Destination,
  signal: AbortSignal,
): Promise<string> {
  // The last part is smaller, and uses the memory of another one.
  const buffer = await PART_POOL.acquire(S3_LIMITS.minBytes, signal)
  try {
    const Body = await readPart(bucket, part, signal, buffer.subarray(0, part.length))
    const { ETag } = await bucket.s3.uploadPart({ ...to, Body }, abortOptions(signal))
    return ETag!
  } finally {
    PART_POOL.release(buffer)
  }
}

async function readPart(
  bucket: Bucket,
  { pieces, length }: UploadedPart,
  signal: AbortSignal | undefined,
  buffer: Buffer = Buffer.allocUnsafe(length),
): Promise<Buffer> {
  let end = 0
  const targets = pieces.map((piece) => {
    const start = end
    end += 'bytes' in piece ? piece.bytes.length : piece.range.end - piece.range.start
    return { piece, into: buffer.subarray(start, end) }
  })
  const options = { concurrency: READ_CONCURRENCY, signal }
  await mapConcurrent(targets, options, async ({ piece, into }, stop) => {
    if ('bytes' in piece) return into.set(piece.bytes)
    let filled = 0
    for await (const chunk of await openObject(bucket, piece.key, piece.range, stop)) {
      // Throws a RangeError if the server sends more than the range.
      into.set(chunk, filled)
      filled += chunk.length
    }
    if (filled !== into.length) {
      throw new Error(`blob ${piece.key} sent ${filled} of ${into.length} bytes`)
    }
  })
  return buffer
}
