import { NeedsGit } from './object-reader.ts'
import type { OwnFile } from './own-file.ts'
import {
  allowed,
  type Budget,
  beginningOf,
  distanceIn,
  headIn,
  inflated,
  lengthMadeBy,
  patched,
} from './pack-entry.ts'

const MAGIC = 0xff744f63
const TABLE = 8 + 256 * 4
/** Of the names that begin alike: a larger pack is left to git. */
const LONGEST_BUCKET = 1024 * 1024
const LARGE_OFFSET = 0x80000000
const LONGEST_CHAIN = 500
/** Of an entry: its kind, its size, and where its base is. */
const LONGEST_HEAD = 64

const TYPES = [undefined, 'commit', 'tree', 'blob', 'tag']
const OFFSET_DELTA = 6
const NAMED_DELTA = 7

interface Entry {
  kind: number
  /** Of what is packed: a delta's own, not that of what it makes. */
  size: number
  /** Where the packed bytes begin. */
  at: number
  /** Where the base of a delta begins. */
  base: number | undefined
}

/** One pack and its index, of which no more is read than leads to an object. */
export class PackFile {
  readonly #index: OwnFile
  readonly #pack: OwnFile
  /** Of an object's name, in bytes. */
  readonly #width: number
  readonly #table: Buffer

  constructor(index: OwnFile, pack: OwnFile, width: number) {
    this.#index = index
    this.#pack = pack
    this.#width = width
    const table = index.read(0, TABLE)
    if (table.length < TABLE || table.readUInt32BE(0) !== MAGIC || table.readUInt32BE(4) !== 2)
      throw new NeedsGit('an index of another version')
    this.#table = table
  }

  /** Where an object begins; undefined where it is not in this pack. */
  find(oid: Buffer): number | undefined {
    const [from, to] = [this.#below(oid[0]!), this.#below(oid[0]! + 1)]
    const length = (to - from) * this.#width
    if (length < 0 || length > LONGEST_BUCKET) throw new NeedsGit('a very large pack')
    const names = this.#index.read(TABLE + from * this.#width, length)
    for (let at = names.indexOf(oid); at !== -1; at = names.indexOf(oid, at + 1))
      if (at % this.#width === 0) return this.#offsetOf(from + at / this.#width)
    return undefined
  }

  size(offset: number): number {
    const { base, size, at } = this.#entryAt(offset)
    return base === undefined ? size : lengthMadeBy(beginningOf(this.#pack.read(at, LONGEST_HEAD)))
  }

  read(offset: number, budget: Budget): { type: string; bytes: Buffer } {
    const deltas: Buffer[] = []
    for (let at = offset; deltas.length < LONGEST_CHAIN; ) {
      const entry = this.#entryAt(at)
      const bytes = this.#unpack(entry, budget)
      if (entry.base === undefined) {
        const whole = deltas.reduceRight((base, delta) => patched(base, delta, budget), bytes)
        return { type: typeOf(entry), bytes: whole }
      }
      deltas.push(bytes)
      at = entry.base
    }
    throw new NeedsGit('very many deltas of each other')
  }

  /** How many names begin with a lower byte. */
  #below(byte: number): number {
    return byte === 0 ? 0 : this.#table.readUInt32BE(4 + byte * 4)
  }

  /** Names, then CRCs, then offsets. */
  #offsetOf(position: number): number {
    const start = TABLE + this.#below(256) * (this.#width + 4)
    const bytes = this.#index.read(start + position * 4, 4)
    const offset = bytes.length < 4 ? LARGE_OFFSET : bytes.readUInt32BE(0)
    if (offset >= LARGE_OFFSET) throw new NeedsGit('a very large pack')
    return offset
  }

  #entryAt(offset: number): Entry {
    const bytes = this.#pack.read(offset, LONGEST_HEAD)
    const [{ kind, size }, end] = headIn(bytes)
    if (kind === OFFSET_DELTA) {
      const [distance, after] = distanceIn(bytes, end)
      return { kind, size, at: offset + after, base: offset - distance }
    }
    if (kind !== NAMED_DELTA) return { kind, size, at: offset + end, base: undefined }
    const base = this.find(bytes.subarray(end, end + this.#width))
    if (base === undefined) throw new NeedsGit('a delta of what is elsewhere')
    return { kind, size, at: offset + end + this.#width, base }
  }

  #unpack({ at, size }: Entry, budget: Budget): Buffer {
    // Deflate makes nothing longer than this.
    const longest = allowed(size, budget) + Math.ceil(size / 1000) + LONGEST_HEAD
    return inflated(this.#pack.read(at, longest), size)
  }
}

function typeOf({ kind }: Entry): string {
  const type = TYPES[kind]
  if (type === undefined) throw new NeedsGit('an entry of an unknown kind')
  return type
}
