import { type FileHandle, open, rm } from 'node:fs/promises'
import { writingTo } from '../../lib/disk-errors.ts'
import type { RowsByKind } from './row-kinds.ts'

/** Where the rows of one kind are in the file. Numbers in columns: an object for each row would take thrice the memory. */
interface Places {
  /** What they are sorted by: their number, or their id. */
  orders: number[]
  offsets: number[]
  lengths: number[]
}

const WRITTEN_AT_ONCE = 256 * 1024
const READ_AT_ONCE = 64 * 1024

/**
 * Facts in whatever order they come, given back by kind and in the order of the archive. They are in a file: memory holds
 * where each is, and nothing of it.
 */
export class RowSpool implements AsyncDisposable {
  readonly #path: string
  readonly #file: FileHandle
  readonly #places = new Map<keyof RowsByKind, Places>()
  #unwritten: Buffer[] = []
  #unwrittenBytes = 0
  #end = 0

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  static async create(path: string): Promise<RowSpool> {
    return new RowSpool(path, await open(path, 'wx+', 0o600))
  }

  async add(kind: keyof RowsByKind, fact: RowsByKind[keyof RowsByKind]): Promise<void> {
    const row = Buffer.from(`${JSON.stringify(fact)}\n`)
    const { number, id } = fact as { number?: number; id?: number }
    const places = this.#places.get(kind) ?? { orders: [], offsets: [], lengths: [] }
    places.orders.push(number ?? id ?? 0)
    places.offsets.push(this.#end)
    places.lengths.push(row.length)
    this.#places.set(kind, places)
    this.#end += row.length
    this.#unwritten.push(row)
    this.#unwrittenBytes += row.length
    if (this.#unwrittenBytes >= WRITTEN_AT_ONCE) await this.#write()
  }

  count(kind: keyof RowsByKind): number {
    return this.#places.get(kind)?.orders.length ?? 0
  }

  /** Rows of one kind, many in a chunk. */
  async *rows(kind: keyof RowsByKind): AsyncGenerator<Buffer> {
    await this.#write()
    const { orders, offsets, lengths } = this.#places.get(kind) ?? NONE
    const sorted = Uint32Array.from(orders.keys()).sort((a, b) => orders[a]! - orders[b]! || a - b)
    for (let from = 0; from < sorted.length; ) {
      let [to, bytes] = [from, 0]
      while (to < sorted.length && (to === from || bytes < READ_AT_ONCE))
        bytes += lengths[sorted[to++]!]!
      const chunk = Buffer.allocUnsafe(bytes)
      let at = 0
      for (const row of sorted.subarray(from, to)) {
        await this.#read(chunk.subarray(at, at + lengths[row]!), offsets[row]!)
        at += lengths[row]!
      }
      yield chunk
      from = to
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
    await rm(this.#path, { force: true })
  }

  async #read(into: Buffer, offset: number): Promise<void> {
    const { bytesRead } = await this.#file.read(into, 0, into.length, offset)
    if (bytesRead !== into.length) throw new Error(`${this.#path} is shorter than was written`)
  }

  async #write(): Promise<void> {
    if (this.#unwritten.length === 0) return
    const bytes = Buffer.concat(this.#unwritten)
    this.#unwritten = []
    this.#unwrittenBytes = 0
    await writingTo(this.#path, () => this.#file.appendFile(bytes), bytes.length)
  }
}

const NONE: Places = { orders: [], offsets: [], lengths: [] }
