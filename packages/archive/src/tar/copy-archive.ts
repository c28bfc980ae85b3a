import { crc32 } from 'node:zlib'
import type { ByteRange } from '@godwit/lib/bytes'
import { type BlobFile, type BlobReader, type DiskStore, isOnDisk } from './blob-reader.ts'
import { ARCHIVE_HEAD, type ArchivePlan } from './plan-archive.ts'

/** Stored bytes of a segment are wrong or missing. */
export class SegmentDamaged extends Error {
  override name = 'SegmentDamaged'
  readonly key: string

  constructor(key: string, why: string, options?: ErrorOptions) {
    super(`the stored segment ${key} is damaged: ${why}`, options)
    this.key = key
  }
}

const MIN_BUFFER_BYTES = 64 * 1024
const MAX_BUFFER_BYTES = 1024 * 1024

/** Writes bytes to the client. Resolves when their memory can be reused. */
export type Write = (bytes: Uint8Array) => Promise<void>

export interface CopyOptions {
  range: ByteRange
  /**
   * Called once, when the first bytes of the first blob were read. Nothing is written before that, so the response to a missing blob
   * can still have an error status.
   */
  begin: () => Write
  /** Aborts reading from a store that does not respond. */
  signal: AbortSignal
  /** Called for each segment that was read completely and matches its CRC, before its last bytes are written. */
  onVerified?: ((key: string) => void) | undefined
}

/**
 * Writes a range of the archive. A segment that lies completely within the range is compared with its CRC before its last bytes
 * are written. Throws SegmentDamaged if it does not match. A segment that is only partly in the range cannot be compared.
 */
export async function copyArchive(
  plan: ArchivePlan,
  blobs: BlobReader,
  options: CopyOptions,
): Promise<void> {
  if (isOnDisk(blobs)) await copyFiles(plan, blobs, options)
  else await copyStreams(plan, blobs, options)
}

/**
 * Uses two buffers alternately: one is filled while the other is written. Allocating memory for every read costs more than the
 * read itself. The buffers grow for clients that receive faster than the disk is read. Slow clients, of which there may be many,
 * need little memory.
 */
async function copyFiles(
  plan: ArchivePlan,
  blobs: DiskStore,
  { range, begin, onVerified }: CopyOptions,
): Promise<void> {
  const buffers = [
    Buffer.allocUnsafeSlow(MIN_BUFFER_BYTES),
    Buffer.allocUnsafeSlow(MIN_BUFFER_BYTES),
  ]
  const writer = bufferedWriter(begin)
  let size = MIN_BUFFER_BYTES
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
        // A blob that is too short must break the download: the following bytes would be at the wrong offset.
        if (bytes.length === 0) throw new SegmentDamaged(piece.key, `it ends at byte ${at}`)
        check(bytes)
        if (writer.isIdle()) size = Math.min(2 * size, MAX_BUFFER_BYTES)
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
  blobs: BlobReader,
  { range, begin, signal, onVerified }: CopyOptions,
): Promise<void> {
  const writer = bufferedWriter(begin)
  let at = range.start
  for await (const bytes of readArchive(plan, blobs, range, { signal, onVerified })) {
    const isHead = at < ARCHIVE_HEAD.length
    at += bytes.length
    await (isHead ? writer.writeComputed(bytes) : writer.write(bytes))
  }
  await writer.end()
}

/** Writes bytes while the next are read. Computed bytes wait until the first bytes of a blob were read. */
function bufferedWriter(begin: () => Write) {
  const waiting: Uint8Array[] = []
  let to: Write | undefined
  let written: Promise<void> = Promise.resolve()
  let isIdle = false

  async function start(): Promise<void> {
    to = begin()
    for (const each of waiting) await write(each)
  }

  async function write(bytes: Uint8Array): Promise<void> {
    if (!to) await start()
    await written
    isIdle = false
    written = to!(bytes).then(() => {
      isIdle = true
    })
    // Awaiting `written` throws the error.
    written.catch(() => {})
  }

  return {
    write,
    async writeComputed(bytes: Uint8Array): Promise<void> {
      if (to) await write(bytes)
      else waiting.push(bytes)
    },
    /** Whether the last write has completed. */
    isIdle: () => isIdle,
    async end(): Promise<void> {
      // The range contains no bytes of a blob.
      if (!to) await start()
      await written
    },
  }
}

async function readSome(file: BlobFile, into: Buffer, { start, end }: ByteRange): Promise<Buffer> {
  const wanted = into.subarray(0, Math.min(into.length, end - start))
  return wanted.subarray(0, await file.read(wanted, start))
}

/** Returns a function to call with the bytes of a piece in order. After the last, it throws SegmentDamaged if the CRC is wrong. */
function segmentCheck(
  { key, range, storedCrc32 }: SegmentPiece,
  onVerified: CopyOptions['onVerified'],
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

type ReadOptions = { signal?: AbortSignal | undefined } & Pick<Partial<CopyOptions>, 'onVerified'>

/**
 * Reads the archive or a range of it, and compares segments as `copyArchive` does. Leaving the loop or aborting closes the blob
 * that is being read.
 */
export async function* readArchive(
  plan: ArchivePlan,
  blobs: BlobReader,
  { start, end }: ByteRange = { start: 0, end: plan.length },
  options: ReadOptions = {},
): AsyncGenerator<Uint8Array> {
  if (!(start >= 0 && start <= end && end <= plan.length)) {
    throw new RangeError(`an archive of ${plan.length} bytes has no range ${start} to ${end}`)
  }
  for (const piece of piecesOf(plan, { start, end })) {
    options.signal?.throwIfAborted()
    if ('bytes' in piece) yield piece.bytes
    else yield* readPiece(blobs, piece, options)
  }
}

interface SegmentPiece {
  key: string
  range: ByteRange
  /** The CRC-32 of the stored segment; null if this piece is only a part of the segment, or if the CRC-32 is unknown. */
  storedCrc32: number | null
}

type Piece = { bytes: Uint8Array } | SegmentPiece

/** Yields the part of each segment, and of the computed bytes, that is within the range. */
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

async function* readPiece(
  blobs: BlobReader,
  piece: SegmentPiece,
  { signal, onVerified }: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const { key, range } = piece
  const length = range.end - range.start
  const check = segmentCheck(piece, onVerified)
  const opened = blobs.open(key, range, { signal }).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error
    throw new SegmentDamaged(key, 'it is shorter than it was', { cause: error })
  })
  let read = 0
  for await (const bytes of await opened) {
    read += bytes.length
    if (read > length) break
    check(bytes)
    yield bytes
  }
  // A blob that is too short must break the download: the following bytes would be at the wrong offset.
  if (read !== length) {
    throw new SegmentDamaged(
      key,
      `expected ${length} bytes from offset ${range.start}, but read ${read}`,
    )
  }
}
