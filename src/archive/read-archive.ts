import type { BlobStore, ByteRange } from '../blobs/blob-store.ts'
import type { ArchivePlan } from './plan-archive.ts'

/** The bytes of the archive, or of a range of it. Leaving the loop or aborting closes the blob being read. */
export function readArchive(
  plan: ArchivePlan,
  blobs: Pick<BlobStore, 'open'>,
  range: ByteRange = { start: 0, end: plan.length },
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<Uint8Array> {
  const { start, end } = range
  if (!(start >= 0 && start <= end && end <= plan.length)) {
    throw new RangeError(`an archive of ${plan.length} bytes has no range ${start} to ${end}`)
  }
  return partsWithin(plan, blobs, range, signal)
}

async function* partsWithin(
  plan: ArchivePlan,
  blobs: Pick<BlobStore, 'open'>,
  range: ByteRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for (const part of piecesOf(plan, range)) {
    signal?.throwIfAborted()
    if ('bytes' in part) yield part.bytes
    else yield* wholeRange(blobs, part.key, part.range, signal)
  }
}

type Piece = { bytes: Uint8Array } | { key: string; range: ByteRange }

/** What of each part lies within the range. */
export function* piecesOf(plan: ArchivePlan, range: ByteRange): Generator<Piece> {
  let partStart = 0
  for (const part of plan.parts) {
    const start = Math.max(range.start - partStart, 0)
    const end = Math.min(range.end - partStart, part.length)
    partStart += part.length
    if (start >= end) continue
    yield 'bytes' in part
      ? { bytes: part.bytes.subarray(start, end) }
      : { key: part.key, range: { start, end } }
  }
}

async function* wholeRange(
  blobs: Pick<BlobStore, 'open'>,
  key: string,
  range: ByteRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const promised = range.end - range.start
  let read = 0
  for await (const bytes of await blobs.open(key, range, { signal })) {
    read += bytes.length
    if (read > promised) break
    yield bytes
  }
  // A blob that falls short must break the download: what follows would land at the wrong place.
  if (read !== promised) {
    throw new Error(`blob ${key} gave ${read} of ${promised} bytes from ${range.start}`)
  }
}
