import { type FileHandle, open, rm } from 'node:fs/promises'
import type { RowsByKind } from './row-kinds.ts'

/** Where a row is in the file, and what it is sorted by. */
interface Place {
  /** Its number or id, as `compareFacts` has it. */
  order: number
  offset: number
  length: number
}

const WRITTEN_AT_ONCE = 1024 * 1024
const READ_AT_ONCE = 256 * 1024

/**
 * Facts in whatever order they come, given back by kind and in the order of the archive. They are in a file: memory holds
 * where each is, and nothing of it.
 */
export class RowSpool implements AsyncDisposable {
  readonly #path: string
  readonly #file: FileHandle
  readonly #places = new Map<keyof RowsByKind, Place[]>()
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
    const places = this.#places.get(kind) ?? []
    places.push({ order: number ?? id ?? 0, offset: this.#end, length: row.length })
    this.#places.set(kind, places)
    this.#end += row.length
    this.#unwritten.push(row)
    this.#unwrittenBytes += row.length
    if (this.#unwrittenBytes >= WRITTEN_AT_ONCE) await this.#write()
  }

  count(kind: keyof RowsByKind): number {
    return this.#places.get(kind)?.length ?? 0
  }

  /** Rows of one kind, many in a chunk. */
  async *rows(kind: keyof RowsByKind): AsyncGenerator<Buffer> {
    await this.#write()
    const places = (this.#places.get(kind) ?? []).sort((a, b) => a.order - b.order)
    let some: Buffer[] = []
    let bytes = 0
    for (const { offset, length } of places) {
      const row = Buffer.alloc(length)
      await this.#file.read(row, 0, length, offset)
      some.push(row)
      bytes += length
      if (bytes < READ_AT_ONCE) continue
      yield Buffer.concat(some)
      some = []
      bytes = 0
    }
    if (some.length > 0) yield Buffer.concat(some)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
    await rm(this.#path, { force: true })
  }

  async #write(): Promise<void> {
    if (this.#unwritten.length === 0) return
    const bytes = Buffer.concat(this.#unwritten)
    await this.#file.appendFile(bytes)
    this.#unwritten = []
    this.#unwrittenBytes = 0
  }
}
