import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, crc32, deflateRaw } from 'node:zlib'
import type { Bytes } from '../blobs/blob-store.ts'
import { STORED_BLOCK, storedBlocks } from './stored-blocks.ts'
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
  open(): Bytes
}

/** Directories come before what is in them, and no path twice; both are the caller's to keep. */
export type SegmentEntry = DirectoryEntry | FileEntry

/** What FORMAT.md says a segment is described by. */
export interface Segment {
  plainLength: number
  length: number
  crc32: number
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
 * Hands the deflated bytes of the entries to the sink, which must read them to the end. The segment is described only
 * after the sink has resolved, so what is described is as durable as the sink makes it.
 */
export async function writeSegment(
  entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
  sink: (bytes: AsyncIterable<Uint8Array>) => Promise<unknown>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<Segment> {
  const sha256 = createHash('sha256')
  const tally = { plainLength: 0, length: 0, crc32: 0 }
  let ended = false

  async function* deflated(): AsyncGenerator<Uint8Array> {
    for await (const { packed, bytes } of pieces(tarBytes(entries))) {
      signal?.throwIfAborted()
      tally.crc32 = crc32(bytes, tally.crc32)
      tally.plainLength += bytes.length
      const piece = packed ? storedBlocks(bytes, { final: false }) : await deflatePiece(bytes)
      sha256.update(piece)
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

const deflateAsync = promisify(deflateRaw)

function deflatePiece(bytes: Uint8Array): Promise<Uint8Array> {
  return deflateAsync(bytes, { finishFlush: constants.Z_FULL_FLUSH, chunkSize: 256 * 1024 })
}

interface Run {
  packed: boolean
  bytes: Uint8Array
}

async function* tarBytes(
  entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
): AsyncGenerator<Run> {
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

/** Cuts the runs into pieces of fixed size, so that chunk sizes leave no trace. A piece is good until the next is asked for. */
async function* pieces(runs: AsyncIterable<Run>): AsyncGenerator<Run> {
  const piece = Buffer.allocUnsafeSlow(PIECE)
  let filled = 0
  let packed = false
  for await (const run of runs) {
    if (run.packed !== packed) {
      if (filled > 0) yield { packed, bytes: piece.subarray(0, filled) }
      filled = 0
      packed = run.packed
    }
    for (let taken = 0; taken < run.bytes.length; ) {
      const part = run.bytes.subarray(taken, taken + PIECE - filled)
      piece.set(part, filled)
      taken += part.length
      filled += part.length
      if (filled === PIECE) {
        yield { packed, bytes: piece }
        filled = 0
      }
    }
  }
  if (filled > 0) yield { packed, bytes: piece.subarray(0, filled) }
}
