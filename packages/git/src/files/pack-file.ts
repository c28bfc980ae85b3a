import { constants, inflateSync } from 'node:zlib'
import {
  INDEX_HEAD_BYTES,
  type IndexLayout,
  indexLayout,
  LARGE_OFFSET_BYTES,
  largeOffsetPosition,
  readLargeOffset,
} from './pack-index.ts'
import type { RegularFile } from './regular-file.ts'
import { NeedsGit } from './repository-errors.ts'
import { createInflater } from './reused-inflater.ts'

/** How many bytes may still be inflated: a few small deltas can expand to very many bytes. */
export interface Budget {
  bytes: number
}

/**
 * Holds the names that begin with one byte. Shared by all lookups, because V8 frees short-lived buffers late. Packs with more names are
 * left to git.
 */
const namesBuffer = Buffer.allocUnsafeSlow(1024 * 1024)
const MAX_DELTA_CHAIN = 500
/** The header of an entry: its kind, its size, and the position or name of its delta base. */
const MAX_HEADER_BYTES = 64

const TYPES = [undefined, 'commit', 'tree', 'blob', 'tag']
const OFFSET_DELTA = 6
const NAMED_DELTA = 7

/** Small objects are cached, because others are often deltas of them. When there are this many, all are evicted. */
const MAX_CACHED_OBJECTS = 256
/** Larger objects are not cached. */
const MAX_CACHED_OBJECT_BYTES = 4096

export interface GitObject {
  type: string
  bytes: Buffer
}

interface Entry {
  kind: number
  /** The inflated size. For a delta it is the size of the delta, not of the object. */
  size: number
  /** The position of the deflated bytes. */
  start: number
  /** The position of a delta's base. */
  base: number | undefined
}

/** A pack and its index. Reads only the parts that lead to a requested object. Every method throws NeedsGit. */
export class PackFile {
  readonly #index: RegularFile
  readonly #pack: RegularFile
  /** The length of an object name in bytes. */
  readonly #width: number
  readonly #head: Buffer
  readonly #layout: IndexLayout
  readonly #cached = new Map<number, GitObject>()

  constructor(index: RegularFile, pack: RegularFile, width: number) {
    this.#index = index
    this.#pack = pack
    this.#width = width
    this.#head = index.read(0, INDEX_HEAD_BYTES)
    this.#layout = indexLayout(this.#head, index.size, width)
  }

  /** Returns the position of an object in the pack; undefined if the pack does not have it. */
  find(oid: Buffer): number | undefined {
    const { names, nameStep } = this.#layout
    const [from, to] = [this.#namesBelow(oid[0]!), this.#namesBelow(oid[0]! + 1)]
    const length = (to - from) * nameStep
    if (length < 0 || length > namesBuffer.length) throw new NeedsGit('a very large pack')
    if (oid.length !== this.#width) throw new NeedsGit('an object name of another length')
    const found = this.#index.read(names + from * nameStep, length, namesBuffer)
    for (let at = found.indexOf(oid); at !== -1; at = found.indexOf(oid, at + 1))
      if (at % nameStep === 0) return this.#offsetOf(from + at / nameStep)
    return undefined
  }

  /** Returns the size of the object at `offset`. */
  size(offset: number): number {
    const { base, size, start } = this.#entryAt(offset)
    if (base === undefined) return size
    const delta = inflateStart(this.#pack.read(start, MAX_HEADER_BYTES))
    const [, afterBase] = parseNumber(delta, 0)
    return parseNumber(delta, afterBase)[0]
  }

  read(offset: number, budget: Budget, chain = 0): GitObject {
    const known = this.#cached.get(offset)
    if (known) return known
    if (chain === MAX_DELTA_CHAIN) throw new NeedsGit('a very long chain of deltas')
    const entry = this.#entryAt(offset)
    const inflated = this.#inflate(entry, budget)
    const base = entry.base === undefined ? undefined : this.read(entry.base, budget, chain + 1)
    const type = base?.type ?? TYPES[entry.kind]
    if (type === undefined) throw new NeedsGit('an entry of an unknown kind')
    const object = { type, bytes: base ? applyDelta(base.bytes, inflated, budget) : inflated }
    if (object.bytes.length > MAX_CACHED_OBJECT_BYTES) return object
    if (this.#cached.size === MAX_CACHED_OBJECTS) this.#cached.clear()
    this.#cached.set(offset, object)
    return object
  }

  /** Returns how many names begin with a lower byte. */
  #namesBelow(byte: number): number {
    return byte === 0 ? 0 : this.#head.readUInt32BE(this.#layout.fanout + (byte - 1) * 4)
  }

  #offsetOf(index: number): number {
    const { offsets, offsetStep, largeOffsets } = this.#layout
    const bytes = this.#index.read(offsets + index * offsetStep, 4)
    if (bytes.length < 4) throw new NeedsGit('a truncated index')
    const offset = bytes.readUInt32BE(0)
    const position = largeOffsetPosition(this.#layout, offset)
    if (position === undefined) return offset
    const large = this.#index.read(largeOffsets + position, LARGE_OFFSET_BYTES)
    return readLargeOffset(large, 0)
  }

  #entryAt(offset: number): Entry {
    const bytes = this.#pack.read(offset, MAX_HEADER_BYTES)
    // Three bits of the first byte are the kind; its lowest four begin the size.
    const [size, end] = parseNumber(bytes, 0, 4)
    const kind = (bytes[0]! >> 4) & 7
    if (kind === OFFSET_DELTA) {
      const [distance, after] = baseDistance(bytes, end)
      return { kind, size, start: offset + after, base: offset - distance }
    }
    if (kind !== NAMED_DELTA) return { kind, size, start: offset + end, base: undefined }
    const base = this.find(bytes.subarray(end, end + this.#width))
    if (base === undefined) throw new NeedsGit('a delta whose base is in another file')
    return { kind, size, start: offset + end + this.#width, base }
  }

  #inflate({ start, size }: Entry, budget: Budget): Buffer {
    // Deflate never makes its input longer than this.
    const maxLength = spend(size, budget) + Math.ceil(size / 1000) + MAX_HEADER_BYTES
    return inflate(this.#pack.read(start, maxLength), size)
  }
}

/** Subtracts `bytes` from the budget and returns `bytes`; throws NeedsGit if the budget is exhausted. */
export function spend(bytes: number, budget: Budget): number {
  budget.bytes -= bytes
  if (!(budget.bytes >= 0)) throw new NeedsGit('very large objects')
  return bytes
}

const MAX_SHORT_BYTES = 64 * 1024
const inflateShort = createInflater(2 * MAX_SHORT_BYTES)

/** Inflates exactly `size` bytes; `deflated` may be followed by other bytes. */
export function inflate(deflated: Buffer, size: number): Buffer {
  // With a larger buffer than needed, zlib stops at the end of the stream and ignores what follows.
  const capacity = size + 64
  const bytes =
    size > MAX_SHORT_BYTES
      ? inflateSync(deflated, { chunkSize: capacity, maxOutputLength: capacity })
      : Buffer.from(inflateShort(deflated).output)
  if (bytes.length !== size) throw new NeedsGit('an object of another size')
  return bytes
}

/** Inflates a stream that is cut off, as far as it goes. Callers need only its first bytes. */
export function inflateStart(deflated: Buffer): Buffer {
  return inflateSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: 1024 })
}

type Parsed = [value: number, end: number]

/** Parses a number in groups of seven bits, the lowest first; the first group has `firstBits` bits. */
function parseNumber(bytes: Buffer, start: number, firstBits = 7): Parsed {
  let scale = 2 ** firstBits
  let value = byteAt(bytes, start) & (scale - 1)
  let end = start
  for (; byteAt(bytes, end++) & 128; scale *= 128) value += (byteAt(bytes, end) & 127) * scale
  return [value, end]
}

/** Parses how far before a delta its base begins: groups of seven bits, the highest first; each except the last is stored minus one. */
function baseDistance(bytes: Buffer, start: number): Parsed {
  let end = start
  let distance = byteAt(bytes, end) & 127
  while (byteAt(bytes, end++) & 128) distance = (distance + 1) * 128 + (byteAt(bytes, end) & 127)
  return [distance, end]
}

/** A delta is two lengths and a list of commands: each command copies bytes of the base, or of the delta itself. */
function applyDelta(base: Buffer, delta: Buffer, budget: Budget): Buffer {
  const [baseLength, afterBase] = parseNumber(delta, 0)
  const [length, start] = parseNumber(delta, afterBase)
  if (baseLength !== base.length) throw new NeedsGit('a delta of another base')
  const result = Buffer.allocUnsafe(spend(length, budget))
  let filled = 0
  for (let at = start; at < delta.length; ) {
    const command = delta[at++]!
    const [from, begin, size, next] =
      command & 128 ? copyCommand(base, delta, at, command) : addCommand(delta, at, command)
    if (begin + size > from.length || filled + size > length)
      throw new NeedsGit('a delta that copies beyond the end')
    from.copy(result, filled, begin, begin + size)
    filled += size
    at = next
  }
  if (filled !== length) throw new NeedsGit('a truncated delta')
  return result
}

type Copy = [from: Buffer, begin: number, size: number, next: number]

/** Four bits of the command say which bytes of the offset follow, three which bytes of the size. */
function copyCommand(base: Buffer, delta: Buffer, start: number, command: number): Copy {
  let at = start
  const number = (bits: readonly number[]) =>
    bits.reduce((sum, bit, n) => (command & bit ? sum + byteAt(delta, at++) * 256 ** n : sum), 0)
  const begin = number([1, 2, 4, 8])
  const size = number([16, 32, 64]) || 0x10000
  return [base, begin, size, at]
}

function addCommand(delta: Buffer, at: number, size: number): Copy {
  if (size === 0) throw new NeedsGit('an unknown command in a delta')
  return [delta, at, size, at + size]
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw new NeedsGit('a truncated pack')
  return byte
}
