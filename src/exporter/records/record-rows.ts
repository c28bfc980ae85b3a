import { createHash } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { crc32, createDeflateRaw, createInflateRaw } from 'node:zlib'
import { SegmentDamaged } from '../../archive/copy-archive.ts'
import type { ManifestFile } from '../../archive/manifest.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { writingTo } from '../../lib/disk-errors.ts'
import { codeOf } from '../../lib/errno.ts'
import { onChunk } from '../../lib/on-chunk.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import { type FactsByKind, SAID_KINDS } from '../../records/facts.ts'
import type { User } from '../../records/people.ts'

/** The facts of one kind within a blob: lines of JSON, deflated by themselves. */
export interface Section {
  kind: Kind
  start: number
  end: number
  count: number
  /** Of the stored bytes. */
  crc32: number
}

export interface WrittenRows {
  segment: SegmentRecord
  sections: Section[]
}

/** The facts of a repository as one blob, kind after kind, so that each can be read alone. */
export async function writeRows(
  blobs: BlobStore,
  key: string,
  spool: RowSpool,
  signal: AbortSignal,
): Promise<WrittenRows> {
  const sections: Section[] = []
  const sha256 = createHash('sha256')
  let [length, plainLength] = [0, 0]

  async function* counted(kind: Kind): AsyncGenerator<Buffer> {
    for await (const rows of spool.rows(kind)) {
      plainLength += rows.length
      yield rows
    }
  }

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const kind of KINDS) {
      const count = spool.count(kind)
      if (count === 0) continue
      const start = length
      let crc = 0
      const deflated = createDeflateRaw()
      pipeline(Readable.from(counted(kind)), deflated, () => {})
      for await (const piece of deflated as AsyncIterable<Uint8Array>) {
        sha256.update(piece)
        crc = crc32(piece, crc)
        length += piece.length
        yield piece
      }
      sections.push({ kind, start, end: length, count, crc32: crc })
    }
  }

  await blobs.put(key, bytes(), { signal })
  const about = { crc32: 0, storedCrc32: null, sha256: sha256.digest('hex') }
  const segment = { key, length, plainLength, ...about }
  return { segment, sections }
}

/** The facts of one kind, one at a time. Throws SegmentDamaged where they are not what was written, perhaps at the very end. */
export async function* readRows<K extends Kind>(
  blobs: BlobStore,
  key: string,
  sections: readonly Section[],
  kind: K,
  signal: AbortSignal,
): AsyncGenerator<RowsByKind[K]> {
  const section = sections.find((each) => each.kind === kind)
  if (!section) return
  const { start, end } = section
  const stored = await blobs.open(key, { start, end }, { signal })
  const plain = createInflateRaw()
  let failure: unknown
  let crc = 0
  const counted = onChunk(stored as AsyncIterable<Buffer>, (piece) => {
    crc = crc32(piece, crc)
  })
  pipeline(counted, plain, (error) => {
    failure = error
  })
  let read = 0
  try {
    for await (const line of linesOf(plain)) {
      read++
      yield JSON.parse(line) as RowsByKind[K]
    }
    if (failure) throw failure
  } catch (error) {
    const isNonsense = error instanceof SyntaxError || codeOf(error)?.startsWith('Z_')
    throw isNonsense ? new SegmentDamaged(key, 'it cannot be inflated', { cause: error }) : error
  }
  if (read !== section.count || crc !== section.crc32)
    throw new SegmentDamaged(key, `its rows of ${kind} are not those that were written`)
}

async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of bytes) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    let from = 0
    for (let at = all.indexOf(10); at !== -1; at = all.indexOf(10, from)) {
      yield all.toString('utf8', from, at)
      from = at + 1
    }
    rest = all.subarray(from)
  }
}

/** What rows there are: the kinds of facts that a forge has, in the order of the archive's files. */
export const KINDS = [
  // People who are known only as members of the organization: not everyone may be told of them.
  'members',
  'users',
  'organizations',
  'teams',
  'repositories',
  ...SAID_KINDS,
  'protected_branches',
  'attachments',
] as const satisfies (keyof RowsByKind)[]

export type Kind = (typeof KINDS)[number]

export interface RowsByKind extends FactsByKind {
  members: User
}

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

/** What a segment of rows says of itself. */
export interface RowsContents {
  /** The forge that they were read of: texts have its addresses. */
  forge: string
  sections: Section[]
  /** Of the segments of their files, by folder; null where there are none. */
  files: Record<FilesFolder, string | null>
}

/** Where files of records are in the archive. */
export const FILES_FOLDERS = ['attachments', 'release_assets'] as const
export type FilesFolder = (typeof FILES_FOLDERS)[number]

/** What a segment of files says of itself. */
export interface FilesContents {
  full_name: string
  files: ManifestFile[]
  /** Which files it does without, and why. */
  missing?: string[]
}
