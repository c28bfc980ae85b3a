import { batchesOf } from '../lib/batches.ts'
import type { BlobPart, ByteRange } from './blob-store.ts'

/** What a server takes in one multipart upload. The last part may be smaller than the smallest. */
export interface PartLimits {
  smallest: number
  largest: number
  maxParts: number
}

/** S3 copies up to 5 GiB at a time; by the gigabyte no request stays silent for long, and several run at once. */
export const S3_LIMITS: PartLimits = {
  smallest: 5 * 1024 ** 2,
  largest: 1024 ** 3,
  maxParts: 10_000,
}

type Piece = { bytes: Uint8Array } | { key: string; range: ByteRange }

/** A part that the server copies by itself, or one that is uploaded by this process. */
export type PlannedPart =
  | { kind: 'copied'; key: string; range: ByteRange; isWhole: boolean; length: number }
  | { kind: 'uploaded'; pieces: Piece[]; length: number }

/**
 * The parts of an upload that say the sources one after the other. Whatever is too small to be a part is uploaded: on its
 * own never more than the smallest part, with as much of its successor as makes one.
 */
export function planParts(
  sources: readonly BlobPart[],
  { smallest, largest }: Omit<PartLimits, 'maxParts'>,
): PlannedPart[] {
  const parts: PlannedPart[] = []
  let pieces: Piece[] = []
  let uploaded = 0

  function flush(): void {
    if (uploaded > 0) parts.push({ kind: 'uploaded', pieces, length: uploaded })
    pieces = []
    uploaded = 0
  }

  /** Up to a full part; answers where it stopped. */
  function addToUpload(source: BlobPart, start: number): number {
    const end = Math.min(source.length, start + smallest - uploaded)
    if (end > start) pieces.push(pieceOf(source, { start, end }))
    uploaded += end - start
    if (uploaded === smallest) flush()
    return end
  }

  for (const source of sources) {
    let at = 0
    while (at < source.length) {
      const canBeCopied = 'key' in source && uploaded === 0 && source.length - at >= smallest
      if (!canBeCopied) {
        at = addToUpload(source, at)
        continue
      }
      parts.push(...copies(source, at, largest))
      at = source.length
    }
  }
  flush()
  return parts
}

/** When an upload has no room for all parts: runs of them that each become an object, to be copied in its turn. */
export function groupParts(
  parts: readonly PlannedPart[],
  { maxParts }: PartLimits,
): PlannedPart[][] {
  return [...batchesOf(parts, maxParts)]
}

export const lengthOf = (parts: readonly { length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)

function pieceOf(source: BlobPart, range: ByteRange): Piece {
  return 'bytes' in source
    ? { bytes: source.bytes.subarray(range.start, range.end) }
    : { key: source.key, range }
}

/** Of about the same length, so that none is too small. */
function* copies(
  { key, length }: { key: string; length: number },
  from: number,
  largest: number,
): Generator<PlannedPart> {
  const count = Math.ceil((length - from) / largest)
  const least = Math.floor((length - from) / count)
  const longer = (length - from) % count
  const cut = (n: number) => from + n * least + Math.min(n, longer)
  for (let n = 0; n < count; n += 1) {
    const range = { start: cut(n), end: cut(n + 1) }
    const isWhole = from === 0 && count === 1
    yield { kind: 'copied', key, range, isWhole, length: range.end - range.start }
  }
}
