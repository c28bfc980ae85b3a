import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, deflateRawSync } from 'node:zlib'
import type { Bytes } from '@godwit/lib/bytes'
import type { ManifestFile } from './manifest.ts'
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
  /** Already compressed, such as a git pack, so it is stored without deflating. */
  packed: boolean
  /** The memory of a chunk may be reused when the next one is requested. */
  open(): Bytes
}

/** The caller must put directories before their contents and must not repeat a path. */
export type SegmentEntry = DirectoryEntry | FileEntry
type Entries = AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>

/** The description of a segment, see FORMAT.md. */
export interface Segment {
  /** The length of the tar entries, before compression. */
  plainLength: number
  /** The length of the deflated bytes. */
  length: number
  /** The CRC-32 of the tar entries. */
  crc32: number
  /** The CRC-32 of the deflated bytes. A download of the whole segment is compared with it. */
  storedCrc32: number
  /** The SHA-256 of the deflated bytes, in lower-case hexadecimal. */
  sha256: string
}

/** The maximum size of a stored deflate block. */
const STORED_BLOCK = 65_535
const PIECE = 8 * STORED_BLOCK

/**
 * Passes the deflated bytes of the entries to the sink, which must read them to the end. The memory of a chunk is reused when the
 * second one after it is requested. Resolves with the description after the sink has resolved, so the segment is as durable as the sink
 * makes it. When the content of a file has been read, its digest is added to `files`, unless it is packed.
 */
export async function writeSegment(
  entries: Entries,
  sink: (bytes: AsyncIterable<Uint8Array>) => Promise<unknown>,
  { signal, files }: { signal?: AbortSignal | undefined; files?: ManifestFile[] } = {},
): Promise<Segment> {
  const sha256 = createHash('sha256')
  const totals = noBytes()
  const buffers = spare.pop() ?? { stored: new StoredBlocks(PIECE), deflated: new DeflatedPiece() }
  let ended = false

  async function* deflated(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces(entries, files, totals, buffers)) {
      signal?.throwIfAborted()
      sha256.update(piece)
      yield piece
    }
    ended = true
  }

  signal?.throwIfAborted()
  await sink(deflated())
  if (!ended) throw new Error('the sink of a segment stopped reading before its end')
  // Not before the sink has written the last chunk, and not after an error, because they may not be empty then.
  spare.push(buffers)
  return { ...totals, sha256: sha256.digest('hex') }
}

type SegmentTotals = Omit<Segment, 'sha256'>

const noBytes = (): SegmentTotals => ({ plainLength: 0, length: 0, crc32: 0, storedCrc32: 0 })

interface Buffers {
  stored: StoredBlocks
  deflated: DeflatedPiece
}

/** Buffers for the next segments. Allocating them for each segment would keep the garbage collector busy. */
const spare: Buffers[] = []

/**
 * Cuts the entries into pieces of fixed size, so that the result does not depend on chunk sizes, and deflates each. Adds them to
 * the totals. Throws if a file has more or fewer bytes than its entry says. Most likely it changed while it was read.
 */
async function* pieces(
  entries: Entries,
  files: ManifestFile[] | undefined,
  totals: SegmentTotals,
  { stored, deflated }: Buffers,
): AsyncGenerator<Uint8Array> {
  let piece: StoredBlocks | DeflatedPiece = deflated
  for await (const entry of entries) {
    let next: StoredBlocks | DeflatedPiece = piece
    // A directory joins the current piece: a separate piece would consist mostly of the flush.
    if (entry.kind === 'file') next = entry.packed ? stored : deflated
    if (next !== piece && piece.length > 0) yield await piece.finish(totals)
    piece = next
    if (entry.kind === 'directory') {
      for (const full of fill(piece, tarHeader({ ...entry, size: 0 })))
        yield await full.finish(totals)
      continue
    }
    const { path, size, open } = entry
    for (const full of fill(piece, tarHeader(entry))) yield await full.finish(totals)
    const sha256 = files && !entry.packed ? createHash('sha256') : undefined
    let read = 0
    for await (const bytes of open()) {
      read += bytes.length
      if (read > size) throw new Error(`${path} should have ${size} bytes, but has more`)
      sha256?.update(bytes)
      for (const full of fill(piece, bytes)) yield await full.finish(totals)
    }
    if (read < size) throw new Error(`${path} should have ${size} bytes, but has ${read}`)
    for (const full of fill(piece, tarPadding(size))) yield await full.finish(totals)
    if (sha256) files?.push({ path, size, sha256: sha256.digest('hex') })
  }
  if (piece.length > 0) yield await piece.finish(totals)
}

/** Adds the bytes to a piece, and yields it whenever it is full. Not async, which would take longer than to write a small file. */
function* fill<T extends StoredBlocks | DeflatedPiece>(piece: T, bytes: Uint8Array): Generator<T> {
  for (let rest = bytes; rest.length > 0; ) {
    rest = rest.subarray(piece.add(rest))
    if (piece.length === PIECE) yield piece
  }
}

const deflateInThreadPool = promisify(deflateRaw)
/** A shorter piece, mostly tar headers, takes less time than a call through the thread pool, and higher levels make it hardly smaller. */
const MIN_POOLED_BYTES = 32 * 1024

/** Collects bytes and deflates them, ending with a full flush, so that later bytes do not refer to them. */
class DeflatedPiece {
  length = 0
  readonly #plain = Buffer.allocUnsafeSlow(PIECE)

  /** Adds as many bytes as fit and returns their number. */
  add(plain: Uint8Array): number {
    const taken = Math.min(plain.length, PIECE - this.length)
    this.#plain.set(plain.subarray(0, taken), this.length)
    this.length += taken
    return taken
  }

  async finish(totals: SegmentTotals): Promise<Uint8Array> {
    const plain = this.#plain.subarray(0, this.length)
    this.length = 0
    const chunkSize = Math.min(plain.length + 1024, 256 * 1024)
    const options = { finishFlush: constants.Z_FULL_FLUSH, chunkSize }
    const deflated =
      plain.length < MIN_POOLED_BYTES
        ? deflateRawSync(plain, { ...options, level: 1 })
        : await deflateInThreadPool(plain, options)
    totals.plainLength += plain.length
    totals.length += deflated.length
    totals.crc32 = crc32(plain, totals.crc32)
    totals.storedCrc32 = crc32(deflated, totals.storedCrc32)
    return deflated
  }
}

const BLOCK_HEADER = 5

/** Collects bytes as stored deflate blocks, as zlib does at level 0, but copies each byte only once. */
class StoredBlocks {
  readonly #max: number
  length = 0
  #out: Buffer | undefined
  /** The buffer of the last result. */
  #last: Buffer | undefined

  constructor(max: number) {
    this.#max = max
  }

  /** Adds as many bytes as fit and returns their number. */
  add(plain: Uint8Array): number {
    this.#out ??= Buffer.allocUnsafeSlow(
      this.#max + Math.ceil(this.#max / STORED_BLOCK) * BLOCK_HEADER,
    )
    const taken = Math.min(plain.length, this.#max - this.length)
    for (let start = 0; start < taken; ) {
      const freeInBlock = STORED_BLOCK - (this.length % STORED_BLOCK)
      const part = plain.subarray(start, Math.min(start + freeInBlock, taken))
      const headers = Math.floor(this.length / STORED_BLOCK) + 1
      this.#out.set(part, this.length + headers * BLOCK_HEADER)
      start += part.length
      this.length += part.length
    }
    return taken
  }

  /** Returns the blocks and starts again. The result is overwritten after the next one. */
  finish(totals: SegmentTotals, { final } = { final: false }): Buffer {
    const out = this.#out ?? Buffer.alloc(0)
    let at = 0
    for (let rest = this.length; rest > 0; rest -= STORED_BLOCK) {
      const length = Math.min(rest, STORED_BLOCK)
      out[at] = final && length === rest ? 1 : 0
      out.writeUInt16LE(length, at + 1)
      out.writeUInt16LE(length ^ 0xffff, at + 3)
      const header = out.subarray(at, at + BLOCK_HEADER)
      at += BLOCK_HEADER + length
      // Every byte is read once for both sums.
      const crc = crc32(out.subarray(at - length, at))
      totals.crc32 = crc32Combine(totals.crc32, crc, length)
      totals.storedCrc32 = crc32Combine(crc32(header, totals.storedCrc32), crc, length)
    }
    totals.plainLength += this.length
    totals.length += at
    this.length = 0
    ;[this.#out, this.#last] = [this.#last, out]
    return out.subarray(0, at)
  }
}

export function storedBlocks(plain: Uint8Array, { final }: { final: boolean }): Buffer {
  const blocks = new StoredBlocks(plain.length)
  blocks.add(plain)
  return blocks.finish(noBytes(), { final })
}

/*
 * The CRC of A followed by B is (CRC of A) · x^8n + (CRC of B), where n is the length of B in bytes, modulo the CRC's polynomial over
 * GF(2). Polynomials are bit-reversed as in zlib: the highest bit is x^0.
 */
const POLYNOMIAL = 0xedb88320
const ONE = 0x80000000
const X_TO_THE_8 = 0x00800000

/** Returns the CRC-32 of the concatenation of a and b. Is fastest for a `lengthOfB` that is the same as in the last call. */
export function crc32Combine(crcOfA: number, crcOfB: number, lengthOfB: number): number {
  if (lengthOfB !== last.length) last = { length: lengthOfB, shift: shiftOf(lengthOfB) }
  return (multiply(last.shift, crcOfA) ^ crcOfB) >>> 0
}

let last = { length: 0, shift: ONE }

function shiftOf(length: number): number {
  let shift = ONE
  let square = X_TO_THE_8
  // Divides instead of shifting, because lengths may have more than 32 bits.
  for (let rest = length; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(shift, square)
    square = multiply(square, square)
  }
  return shift
}

function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= b
    b = b & 1 ? (b >>> 1) ^ POLYNOMIAL : b >>> 1
  }
  return product >>> 0
}
