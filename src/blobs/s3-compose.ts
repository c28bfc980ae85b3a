import { mapConcurrent } from '../lib/map-concurrent.ts'
import type { BlobPart } from './blob-store.ts'
import { asMissing, type Bucket } from './s3-bucket.ts'
import {
  groupParts,
  lengthOf,
  type PartLimits,
  type PlannedPart,
  planParts,
} from './s3-compose-plan.ts'
import { abortedBy, assemble, type Upload } from './s3-multipart.ts'
import { PART_BUFFER } from './s3-part-buffer.ts'
import { putWhole } from './s3-put.ts'
import { openObject } from './s3-read.ts'
import { pieceKey } from './s3-unfinished.ts'

type UploadedPart = Extract<PlannedPart, { kind: 'uploaded' }>
type Copied = Extract<PlannedPart, { kind: 'copied' }>

/** Parts on their way at once: an uploaded one takes the smallest part's room in memory, a copied one none. */
const LANES = 4
/** Many an uploaded part is a thousand small blobs. */
const READING_LANES = 16

/** The server copies what is large; what is too small for that is read and sent. */
export async function composeParts(
  bucket: Bucket,
  key: string,
  sources: readonly BlobPart[],
  limits: PartLimits,
  signal: AbortSignal | undefined,
): Promise<void> {
  const parts = planParts(sources, limits)
  const [first, ...more] = parts
  if (more.length === 0 && first?.kind !== 'copied') {
    return putWhole(bucket, key, first ? await read(bucket, first, signal) : Buffer.of(), signal)
  }
  if (parts.length <= limits.maxParts) return assembleParts(bucket, key, parts, signal)
  await composeRuns(bucket, key, groupParts(parts, limits), limits, signal)
}

/**
 * Too many parts for one upload: each run of them becomes an object on the side, which is copied as soon as it is there.
 * The upload of the whole begins first, so that whoever sweeps sees that the runs are somebody's.
 */
async function composeRuns(
  bucket: Bucket,
  key: string,
  runs: PlannedPart[][],
  limits: PartLimits,
  signal: AbortSignal | undefined,
): Promise<void> {
  const copies = runs.map((run, n) =>
    planParts([{ key: pieceKey(key, n), length: lengthOf(run) }], limits),
  )
  const count = copies.flat().length
  if (count > limits.maxParts) throw new RangeError(`blob ${key} would have ${count} parts`)

  async function* copiedRuns(): AsyncGenerator<PlannedPart> {
    for (const [n, run] of runs.entries()) {
      await assembleParts(bucket, pieceKey(key, n), run, signal)
      yield* copies[n]!
    }
  }
  try {
    await assembleParts(bucket, key, copiedRuns(), signal)
  } finally {
    for (const n of runs.keys()) await removePiece(bucket, pieceKey(key, n))
  }
}

async function assembleParts(
  bucket: Bucket,
  key: string,
  parts: Iterable<PlannedPart> | AsyncIterable<PlannedPart>,
  signal: AbortSignal | undefined,
): Promise<void> {
  await assemble(bucket, key, {
    parts,
    send: (part, to, stop) =>
      part.kind === 'copied' ? copy(bucket, part, to, stop) : upload(bucket, part, to, stop),
    lanes: LANES,
    signal,
  })
}

type Destination = Upload & { PartNumber: number }

async function copy(
  { s3, name, prefix }: Bucket,
  { key, range, isWhole }: Copied,
  to: Destination,
  signal: AbortSignal,
): Promise<string> {
  const { CopyPartResult } = await s3
    .uploadPartCopy(
      {
        ...to,
        CopySource: [name, ...(prefix + key).split('/')].map(encodeURIComponent).join('/'),
        // S3 takes ranges only of objects above the smallest part's size.
        ...(!isWhole && { CopySourceRange: `bytes=${range.start}-${range.end - 1}` }),
      },
      abortedBy(signal),
    )
    .catch(asMissing(key))
  return CopyPartResult!.ETag!
}

async function upload(
  bucket: Bucket,
  part: UploadedPart,
  to: Destination,
  signal: AbortSignal,
): Promise<string> {
  const room = await PART_BUFFER.take(part.length, signal)
  try {
    const Body = await read(bucket, part, signal, room)
    const { ETag } = await bucket.s3.uploadPart({ ...to, Body }, abortedBy(signal))
    return ETag!
  } finally {
    PART_BUFFER.giveBack(room)
  }
}

async function read(
  bucket: Bucket,
  { pieces, length }: UploadedPart,
  signal: AbortSignal | undefined,
  whole: Buffer = Buffer.allocUnsafe(length),
): Promise<Buffer> {
  let end = 0
  const places = pieces.map((piece) => {
    const start = end
    end += 'bytes' in piece ? piece.bytes.length : piece.range.end - piece.range.start
    return { piece, place: whole.subarray(start, end) }
  })
  await mapConcurrent(places, { lanes: READING_LANES, signal }, async ({ piece, place }, stop) => {
    if ('bytes' in piece) return place.set(piece.bytes)
    let filled = 0
    for await (const chunk of await openObject(bucket, piece.key, piece.range, stop)) {
      // What does not fit is refused here: a blob that gives more than it was asked for.
      place.set(chunk, filled)
      filled += chunk.length
    }
    if (filled !== place.length) {
      throw new Error(`blob ${piece.key} gave ${filled} of ${place.length} bytes`)
    }
  })
  return whole
}

async function removePiece({ s3, name, prefix }: Bucket, key: string): Promise<void> {
  // Where this fails, the sweep comes by.
  await s3.deleteObject({ Bucket: name, Key: prefix + key }).catch(() => {})
}
