import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, crc32, deflateRaw } from 'node:zlib'
import type { Bytes } from '../blobs/blob-store.ts'
import { STORED_BLOCK, StoredBlocks } from './stored-blocks.ts'
import { tarHeader, tarPadding } from './tar-header.ts'

interface DirectoryEntry {
  kind: 'directory'
  path: string
  /** Epoch milliseconds. */
  modifiedAt: number
}

export interface FileEntry {
  kind: 'file'
  path: string
  size: number
  modifiedAt: number
  /** Compressed already, such as a git pack: stored as it is. */
  packed: boolean
  /** A chunk need only be good until the next is asked for. */
  open(): Bytes
}

/** Directories come before what is in them, and no path twice; both are the caller's to keep. */
export type SegmentEntry = DirectoryEntry | FileEntry

/** What FORMAT.md says a segment is described by. */
export interface Segment {
  plainLength: number
  length: number
  crc32: number
  /** The CRC-32 of the deflated bytes, which every download compares. */
  storedCrc32: number
  /** Lower-case hexadecimal. */
  sha256: string
}

/** A file had more or fewer bytes than its entry promised: most likely it changed while it was read. */
export class EntrySizeWrong extends Error {
  override name = 'EntrySizeWrong'
  readonly path: string

  constructor(path: string, promised: number, found: string) {
    super(`${path} was to have ${promised} bytes and has ${found}`)
    this.path = path
  }
}

const PIECE = 8 * STORED_BLOCK

/**
 * Hands the deflated bytes of the entries to the sink, which must read them to the end; a chunk is good until the next is
 * asked for. The segment is described only after the sink has resolved, so what is described is as durable as the sink
 * makes it.
 */
export async function writeSegment(
  entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
  sink: (bytes: AsyncIterable<Uint8Array>) => Promise<unknown>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<Segment> {
  const sha256 = createHash('sha256')
  const tally = { plainLength: 0, length: 0, crc32: 0, storedCrc32: 0 }
  let ended = false

  async function* counted(): AsyncGenerator<TarRun> {
    for await (const run of tarBytes(entries)) {
      tally.crc32 = crc32(run.bytes, tally.crc32)
      tally.plainLength += run.bytes.length
      yield run
    }
  }

  async function* deflated(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces(counted())) {
      signal?.throwIfAborted()
      sha256.update(piece)
      tally.storedCrc32 = crc32(piece, tally.storedCrc32)
      tally.length += piece.length
      yield piece
    }
    ended = true
  }

  signal?.throwIfAborted()
  await sink(deflated())
  if (!ended) throw new Error('the sink of a segment stopped reading before its end')
  return { ...tally, sha256: sha256.digest('hex') }
}

interface TarRun {
  packed: boolean
  bytes: Uint8Array
}

async function* tarBytes(
  entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
): AsyncGenerator<TarRun> {
  let packed = false
  for await (const entry of entries) {
    if (entry.kind === 'directory') {
      // Directories stay in the run they are met in: a piece of their own each would be mostly flushes.
      yield { packed, bytes: tarHeader({ ...entry, size: 0 }) }
      continue
    }
    packed = entry.packed
    yield { packed, bytes: tarHeader(entry) }
    for await (const bytes of wholeContent(entry)) yield { packed, bytes }
    yield { packed, bytes: tarPadding(entry.size) }
  }
}

async function* wholeContent(entry: FileEntry): AsyncGenerator<Uint8Array> {
  const { path, size } = entry
  let read = 0
  for await (const bytes of entry.open()) {
    read += bytes.length
    if (read > size) throw new EntrySizeWrong(path, size, 'more')
    yield bytes
  }
  if (read < size) throw new EntrySizeWrong(path, size, `${read}`)
}

/** Buffers of segments that are written, for those to come: new ones for each would keep the garbage collector busy. */
const spare: { stored: StoredBlocks; deflated: DeflatedPiece }[] = []

/** Cuts the runs into pieces of fixed size, so that chunk sizes leave no trace, and deflates each. */
async function* pieces(runs: AsyncIterable<TarRun>): AsyncGenerator<Uint8Array> {
  const own = spare.pop() ?? {
    stored: new StoredBlocks(PIECE),
    deflated: new DeflatedPiece(PIECE),
  }
  let piece: StoredBlocks | DeflatedPiece = own.deflated
  for await (const { packed, bytes } of runs) {
    const next = packed ? own.stored : own.deflated
    if (next !== piece && piece.length > 0) yield await piece.finish()
    piece = next
    for (let rest = bytes; rest.length > 0; ) {
      rest = rest.subarray(piece.add(rest))
      if (piece.length === PIECE) yield await piece.finish()
    }
  }
  if (piece.length > 0) yield await piece.finish()
  // Only after a good end, when both are empty.
  spare.push(own)
}

const deflate = promisify(deflateRaw)

/** Gathers text and deflates it, ended by a full flush: nothing after it refers to bytes in it. */
class DeflatedPiece {
  readonly max: number
  length = 0
  readonly #plain: Buffer

  constructor(max: number) {
    this.max = max
    this.#plain = Buffer.allocUnsafeSlow(max)
  }

  /** Takes what there is room for, and answers how many bytes that was. */
  add(plain: Uint8Array): number {
    const taken = Math.min(plain.length, this.max - this.length)
    this.#plain.set(plain.subarray(0, taken), this.length)
    this.length += taken
    return taken
  }

  async finish(): Promise<Uint8Array> {
    const plain = this.#plain.subarray(0, this.length)
    this.length = 0
    return deflate(plain, { finishFlush: constants.Z_FULL_FLUSH, chunkSize: 256 * 1024 })
  }
}
