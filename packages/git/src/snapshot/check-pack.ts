import { crc32 } from 'node:zlib'
import {
  BadIndex,
  type IndexedEntries,
  openPackIndex,
  type PackIndex,
} from '../files/pack-index.ts'
import type { RegularFile } from '../files/regular-file.ts'

/** Compares the bytes of a pack with its index while they are read. */
interface PackCheck extends Disposable {
  add(chunk: Buffer): void
  /**
   * Call it after the last chunk. Returns how the index differs from the pack; undefined if they agree. `trailer` is the checksum
   * at the end of the pack.
   */
  findMismatch(trailer: Buffer): string | undefined
}

interface PackToCheck {
  /** Closed with the check. */
  index: RegularFile
  size: number
  /** The length of an object name in bytes. */
  width: number
  /** The part of the pack whose entries are read from the index at once. */
  sectionBytes?: number
  /**
   * Called with every entry of at most MAX_SMALL_ENTRY bytes, and with the beginning of every entry of at least MIN_LARGE_ENTRY. The
   * buffer is reused after the call.
   */
  onEntry: (entry: Buffer) => void
}

/** The magic number, the version, and the number of objects. */
const HEADER_BYTES = 12
const MAX_SMALL_ENTRY = 1100
/** Smaller entries inflate to at most 4.1 MB. */
const MIN_LARGE_ENTRY = 4000
/** Enough for the type and size of an entry. Each part of an entry has at least one byte. */
const BEGINNING_BYTES = 10

export function checkPack(pack: PackToCheck): PackCheck {
  try {
    return new RunningCheck(openPackIndex(pack.index, pack), pack)
  } catch (error) {
    pack.index[Symbol.dispose]()
    if (!(error instanceof BadIndex)) throw error
    const { message } = error
    return { add: () => {}, findMismatch: () => message, [Symbol.dispose]: () => {} }
  }
}

class RunningCheck implements PackCheck {
  readonly #index: PackIndex
  readonly #pack: PackToCheck
  /** Where the entries end and the checksum begins. */
  readonly #end: number
  #entries: IndexedEntries = { count: 0, offset: () => 0, crc: () => 0, next: HEADER_BYTES }
  /** The entry that is being read; -1 for the header of the pack. */
  #current = -1
  #start = 0
  #stop = HEADER_BYTES
  #crc = 0
  /** The bytes so far of a small entry or of the header, or the beginning of a large entry. */
  #parts: Buffer[] = []
  #entriesRead = 0
  #position = 0
  #mismatch: string | undefined

  constructor(index: PackIndex, pack: PackToCheck) {
    this.#index = index
    this.#pack = pack
    this.#end = pack.size - pack.width
  }

  add(chunk: Buffer): void {
    const limit = Math.min(chunk.length, this.#end - this.#position)
    let from = 0
    while (from < limit && this.#mismatch === undefined) {
      const to = Math.min(this.#stop - this.#position, limit)
      this.#read(chunk.subarray(from, to))
      from = to
      if (this.#position + to < this.#stop) break
      this.#finishEntry()
      if (this.#stop === this.#end) break
      if (this.#current + 1 >= this.#entries.count) this.#loadEntries()
      if (this.#mismatch === undefined) this.#beginEntry()
    }
    this.#position += chunk.length
    // The caller reuses the chunk for the bytes that follow.
    this.#parts = this.#parts.map((part) => Buffer.from(part))
  }

  findMismatch(trailer: Buffer): string | undefined {
    if (!trailer.equals(this.#index.packChecksum)) return 'packfile does not match index'
    if (this.#mismatch !== undefined) return this.#mismatch
    return this.#stop === this.#end && this.#entriesRead === this.#index.count
      ? undefined
      : WRONG_COUNT
  }

  #read(bytes: Buffer): void {
    const length = this.#stop - this.#start
    if (length <= MAX_SMALL_ENTRY) this.#parts.push(bytes)
    else if (length >= MIN_LARGE_ENTRY && this.#parts.length < BEGINNING_BYTES)
      this.#parts.push(bytes.subarray(0, BEGINNING_BYTES))
    if (this.#index.hasCrcs) this.#crc = crc32(bytes, this.#crc)
  }

  #finishEntry(): void {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    if (this.#current < 0) {
      if (bytes.readUInt32BE(8) !== this.#index.count) this.#mismatch = WRONG_COUNT
    } else if (this.#index.hasCrcs && this.#crc !== this.#entries.crc(this.#current))
      this.#mismatch = `the index has another CRC-32 for the object at offset ${this.#start}`
    else if (bytes.length > 0) this.#pack.onEntry(bytes)
    this.#parts = []
    this.#crc = 0
  }

  #loadEntries(): void {
    try {
      this.#entries = this.#index.entriesFrom(this.#stop)
      this.#current = -1
    } catch (error) {
      if (!(error instanceof BadIndex)) throw error
      this.#mismatch = error.message
    }
  }

  /** An entry ends where the next begins, or at the end of the pack. */
  #beginEntry(): void {
    this.#start = this.#stop
    this.#current += 1
    this.#entriesRead += 1
    const { count, offset, next } = this.#entries
    if (this.#current >= count || offset(this.#current) !== this.#start) {
      this.#mismatch = `the index has no object at offset ${this.#start}`
      return
    }
    const following = this.#current + 1 < count ? offset(this.#current + 1) : (next ?? this.#end)
    if (following <= this.#start || following > this.#end)
      this.#mismatch = `the index has a wrong end for the object at offset ${this.#start}`
    this.#stop = following
  }

  [Symbol.dispose](): void {
    this.#pack.index[Symbol.dispose]()
  }
}

const WRONG_COUNT = 'the index has another number of objects than the pack'
