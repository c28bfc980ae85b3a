import { crc32 } from 'node:zlib'
import {
  type BlobFile,
  type BlobStore,
  type ByteRange,
  isOnDisk,
  type OnDisk,
} from '../blobs/blob-store.ts'
import { ARCHIVE_HEAD, type ArchivePlan } from './plan-archive.ts'

/** The stored bytes of a segment are not those that were written: some are wrong or missing. */
export class SegmentDamaged extends Error {
  override name = 'SegmentDamaged'
  readonly key: string

  constructor(key: string, why: string, options?: ErrorOptions) {
    super(`the stored segment ${key} is damaged: ${why}`, options)
    this.key = key
  }
}

const LEAST_BYTES = 64 * 1024
const MAX_BYTES = 1024 * 1024

/** Resolves when the bytes are no longer needed. */
export type Write = (bytes: Uint8Array) => Promise<void>

export interface Copying {
  range: ByteRange
  /**
   * Asked for once, when the first bytes of the first blob are at hand: before that nothing is written, so that a store
   * which has lost the archive is noticed while it can still be told.
   */
  begin: () => Write
  /** Ends the reading of a store that does not answer. */
  signal: AbortSignal
  /** Called for each segment that was read whole and matches its CRC, before its last bytes are written. */
  onVerified?: ((key: string) => void) | undefined
}

/**
 * The bytes of a range of the archive, from wherever they are. A segment that lies within the range is compared with its CRC
 * before its last bytes are written: SegmentDamaged is thrown instead. One that the range cuts cannot be compared.
 */
export async function copyArchive(
  plan: ArchivePlan,
  blobs: BlobStore,
  copying: Copying,
): Promise<void> {
  if (isOnDisk(blobs)) await copyFiles(plan, blobs, copying)
  else await copyStreams(plan, blobs, copying)
}

/**
 * By way of two buffers that are used in turns: one is read into while the other is written. Memory that is made anew for
 * every read costs more than the reading itself. Whoever takes bytes faster than they are read gets more of them at a time;
 * whoever is slow, of whom there may be many, costs little memory.
 */
async function copyFiles(
  plan: ArchivePlan,
  blobs: OnDisk,
  { range, begin, onVerified }: Copying,
): Promise<void> {
  const buffers = [Buffer.allocUnsafeSlow(LEAST_BYTES), Buffer.allocUnsafeSlow(LEAST_BYTES)]
  const writer = oneAhead(begin)
  let size = LEAST_BYTES
  function nextBuffer(): Buffer {
    if (buffers[0]!.length < size) buffers[0] = Buffer.allocUnsafeSlow(size)
    return buffers[0]!
  }
  for (const piece of piecesOf(plan, range)) {
    if ('bytes' in piece) await writer.writeComputed(piece.bytes)
    else {
      await using file = await blobs.openFile(piece.key)
      const check = segmentCheck(piece, onVerified)
      for (let at = piece.range.start; at < piece.range.end; ) {
        const bytes = await readSome(file, nextBuffer(), { start: at, end: piece.range.end })
        // A blob that falls short must break the download: what follows would land at the wrong place.
        if (bytes.length === 0) throw new SegmentDamaged(piece.key, `it ends at byte ${at}`)
        check(bytes)
        if (writer.isTaken()) size = Math.min(2 * size, MAX_BYTES)
        await writer.write(bytes)
        buffers.reverse()
        at += bytes.length
      }
    }
  }
  await writer.end()
}

async function copyStreams(
  plan: ArchivePlan,
  blobs: BlobStore,
  { range, begin, signal, onVerified }: Copying,
): Promise<void> {
  const writer = oneAhead(begin)
  let at = range.start
  for await (const bytes of readArchive(plan, blobs, range, { signal, onVerified })) {
    const isHead = at < ARCHIVE_HEAD.length
    at += bytes.length
    await (isHead ? writer.writeComputed(bytes) : writer.write(bytes))
  }
  await writer.end()
}

/** Writes one run of bytes while the next is fetched. What is computed waits until the first of a blob is there. */
function oneAhead(begin: () => Write) {
  const waiting: Uint8Array[] = []
  let to: Write | undefined
  let written: Promise<void> = Promise.resolve()
  let isTaken = false

  async function start(): Promise<void> {
    to = begin()
    for (const each of waiting) await write(each)
  }

  async function write(bytes: Uint8Array): Promise<void> {
    if (!to) await start()
    await written
    isTaken = false
    written = to!(bytes).then(() => {
      isTaken = true
    })
    // Told by whoever waits for it next.
    written.catch(() => {})
  }

  return {
    write,
    async writeComputed(bytes: Uint8Array): Promise<void> {
      if (to) await write(bytes)
      else waiting.push(bytes)
    },
    /** Whether all that was written has been taken. */
    isTaken: () => isTaken,
    async end(): Promise<void> {
      // Nothing of a blob was asked for.
      if (!to) await start()
      await written
    },
  }
}

async function readSome(file: BlobFile, into: Buffer, { start, end }: ByteRange): Promise<Buffer> {
  const wanted = into.subarray(0, Math.min(into.length, end - start))
  return wanted.subarray(0, await file.read(wanted, start))
}

/** Given the bytes of a piece in order, throws SegmentDamaged at the last of them where they do not match the CRC. */
function segmentCheck(
  { key, range, storedCrc32 }: SegmentPiece,
  onVerified: Copying['onVerified'],
): (bytes: Uint8Array) => void {
  if (storedCrc32 === null) return () => {}
  let [crc, left] = [0, range.end - range.start]
  return (bytes) => {
    crc = crc32(bytes, crc)
    left -= bytes.length
    if (left > 0) return
    if (crc !== storedCrc32) throw new SegmentDamaged(key, 'its checksum is wrong')
    onVerified?.(key)
  }
}

type ReadOptions = { signal?: AbortSignal | undefined } & Pick<Partial<Copying>, 'onVerified'>

/** The bytes of the archive, or of a range of it, compared as `copyArchive` does. Leaving the loop or aborting closes the blob being read. */
export function readArchive(
  plan: ArchivePlan,
  blobs: Pick<BlobStore, 'open'>,
  range: ByteRange = { start: 0, end: plan.length },
  options: ReadOptions = {},
): AsyncGenerator<Uint8Array> {
  const { start, end } = range
  if (!(start >= 0 && start <= end && end <= plan.length)) {
    throw new RangeError(`an archive of ${plan.length} bytes has no range ${start} to ${end}`)
  }
  return partsWithin(plan, blobs, range, options)
}

async function* partsWithin(
  plan: ArchivePlan,
  blobs: Pick<BlobStore, 'open'>,
  range: ByteRange,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  for (const part of piecesOf(plan, range)) {
    options.signal?.throwIfAborted()
    if ('bytes' in part) yield part.bytes
    else yield* wholeRange(blobs, part, options)
  }
}

interface SegmentPiece {
  key: string
  range: ByteRange
  /** The CRC-32 of the stored segment; null if this piece is only a part of the segment, or if the CRC-32 is unknown. */
  storedCrc32: number | null
}

type Piece = { bytes: Uint8Array } | SegmentPiece

/** What of each part lies within the range. */
function* piecesOf(plan: ArchivePlan, range: ByteRange): Generator<Piece> {
  let partStart = 0
  for (const part of plan.parts) {
    const start = Math.max(range.start - partStart, 0)
    const end = Math.min(range.end - partStart, part.length)
    partStart += part.length
    if (start >= end) continue
    if ('bytes' in part) yield { bytes: part.bytes.subarray(start, end) }
    else {
      const storedCrc32 = end - start === part.length ? part.storedCrc32 : null
      yield { key: part.key, range: { start, end }, storedCrc32 }
    }
  }
}

async function* wholeRange(
  blobs: Pick<BlobStore, 'open'>,
  piece: SegmentPiece,
  { signal, onVerified }: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const { key, range } = piece
  const promised = range.end - range.start
  const check = segmentCheck(piece, onVerified)
  const opened = blobs.open(key, range, { signal }).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error
    throw new SegmentDamaged(key, 'it is shorter than it was', { cause: error })
  })
  let read = 0
  for await (const bytes of await opened) {
    read += bytes.length
    if (read > promised) break
    check(bytes)
    yield bytes
  }
  // A blob that falls short must break the download: what follows would land at the wrong place.
  if (read !== promised) {
    throw new SegmentDamaged(key, `it gave ${read} of ${promised} bytes from ${range.start}`)
  }
}
