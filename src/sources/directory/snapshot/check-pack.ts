import { crc32 } from 'node:zlib'
import { BadIndex, type IndexedEntries, openPackIndex, type PackIndex } from './pack-index.ts'

/** Follows the bytes of a pack as they go by, and says where its index does not agree with them. */
export interface PackCheck extends AsyncDisposable {
  take(chunk: Buffer): Promise<void>
  /** After the last chunk: undefined where pack and index agree. `trailer` is the checksum that the pack ends with. */
  complaint(trailer: Buffer): string | undefined
}

export interface PackToCheck {
  indexPath: string
  size: number
  /** Of an object's name, in bytes. */
  width: number
  /** How much of the pack is looked up in the index at once. */
  stretch?: number
  /** Sees every entry of at most `SMALL_ENTRY` bytes, and must not keep it. */
  onSmallEntry: (entry: Buffer) => void
}

/** The magic number, the version, and how many objects there are. */
const HEADER = 12
const SMALL_ENTRY = 1100

export async function checkPack(pack: PackToCheck): Promise<PackCheck> {
  try {
    return new FollowedPack(await openPackIndex(pack.indexPath, pack), pack)
  } catch (error) {
    if (!(error instanceof BadIndex)) throw error
    const { message } = error
    return { take: async () => {}, complaint: () => message, [Symbol.asyncDispose]: async () => {} }
  }
}

class FollowedPack implements PackCheck {
  readonly #index: PackIndex
  readonly #pack: PackToCheck
  /** Where the entries end and the checksum begins. */
  readonly #end: number
  #entries: IndexedEntries = { count: 0, offset: () => 0, crc: () => 0, next: HEADER }
  /** The entry that the bytes are in; before the first there is the header. */
  #current = -1
  #start = 0
  #stop = HEADER
  #crc = 0
  /** What there is of a small entry, or of the header. */
  #parts: Buffer[] = []
  #seen = 0
  #at = 0
  #fault: string | undefined

  constructor(index: PackIndex, pack: PackToCheck) {
    this.#index = index
    this.#pack = pack
    this.#end = pack.size - pack.width
  }

  async take(chunk: Buffer): Promise<void> {
    const limit = Math.min(chunk.length, this.#end - this.#at)
    let from = 0
    while (from < limit && this.#fault === undefined) {
      const to = Math.min(this.#stop - this.#at, limit)
      this.#read(chunk.subarray(from, to))
      from = to
      if (this.#at + to < this.#stop) break
      this.#finishEntry()
      if (this.#stop === this.#end) break
      if (this.#current + 1 >= this.#entries.count) await this.#lookUp()
      if (this.#fault === undefined) this.#beginEntry()
    }
    this.#at += chunk.length
    // The chunk is used again for the bytes that follow.
    this.#parts = this.#parts.map((part) => Buffer.from(part))
  }

  complaint(trailer: Buffer): string | undefined {
    if (!trailer.equals(this.#index.packChecksum)) return 'packfile does not match index'
    if (this.#fault !== undefined) return this.#fault
    return this.#stop === this.#end && this.#seen === this.#index.count ? undefined : OTHER_COUNT
  }

  #read(bytes: Buffer): void {
    if (this.#stop - this.#start <= SMALL_ENTRY) this.#parts.push(bytes)
    if (this.#index.hasCrcs) this.#crc = crc32(bytes, this.#crc)
  }

  #finishEntry(): void {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    if (this.#current < 0) {
      if (bytes.readUInt32BE(8) !== this.#index.count) this.#fault = OTHER_COUNT
    } else if (this.#index.hasCrcs && this.#crc !== this.#entries.crc(this.#current))
      this.#fault = `the index has another CRC-32 for what begins at ${this.#start}`
    else if (bytes.length > 0) this.#pack.onSmallEntry(bytes)
    this.#parts = []
    this.#crc = 0
  }

  async #lookUp(): Promise<void> {
    try {
      this.#entries = await this.#index.entriesFrom(this.#stop)
      this.#current = -1
    } catch (error) {
      if (!(error instanceof BadIndex)) throw error
      this.#fault = error.message
    }
  }

  /** Where one ends the next begins, up to the end of the pack. */
  #beginEntry(): void {
    this.#start = this.#stop
    this.#current += 1
    this.#seen += 1
    const { count, offset, next } = this.#entries
    if (this.#current >= count || offset(this.#current) !== this.#start) {
      this.#fault = `the index has no object that begins at ${this.#start}`
      return
    }
    const following = this.#current + 1 < count ? offset(this.#current + 1) : (next ?? this.#end)
    if (following <= this.#start || following > this.#end)
      this.#fault = `the index has a wrong end for what begins at ${this.#start}`
    this.#stop = following
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#index[Symbol.asyncDispose]()
  }
}

const OTHER_COUNT = 'the index has another number of objects than the pack'
