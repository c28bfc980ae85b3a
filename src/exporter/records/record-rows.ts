import { createHash } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { crc32, createDeflateRaw, createInflateRaw } from 'node:zlib'
import { SegmentDamaged } from '../../archive/copy-archive.ts'
import type { ManifestFile } from '../../archive/manifest.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { onChunk } from '../../lib/chunks.ts'
import { withWriteContext } from '../../lib/disk-errors.ts'
import { codeOf } from '../../lib/errno.ts'
import type { Loss } from '../../lib/losses.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import { type FactsByKind, ISSUE_TRACKER_KINDS } from '../../records/fact-kinds.ts'
import type { User } from '../../records/people.ts'

/** The kinds of facts in groups, except people. */
export const GROUP_KINDS = [
  'repositories',
  ...ISSUE_TRACKER_KINDS,
  'protected_branches',
  'attachments',
] as const

/** The kinds of facts that are stored as rows, in the order of the archive's files. */
const KINDS = [
  // Users who are known only as members of the organization. Not everyone may see them.
  'members',
  'users',
  'organizations',
  'teams',
  ...GROUP_KINDS,
] as const satisfies (keyof RowsByKind)[]

export type Kind = (typeof KINDS)[number]

export interface RowsByKind extends FactsByKind {
  members: User
}

/** The positions of the rows of one kind in the file. Columns, because an object for each row would take three times the memory. */
interface RowPositions {
  /** The sort key: number or id. */
  orders: number[]
  offsets: number[]
  lengths: number[]
}

const WRITE_BYTES = 256 * 1024
const READ_BYTES = 64 * 1024

/** Sorts facts by kind, then by number or id. They are in a temporary file: only their positions are in memory. */
export class RowSpool implements AsyncDisposable {
  readonly #path: string
  readonly #file: FileHandle
  readonly #positions = new Map<Kind, RowPositions>(
    KINDS.map((kind) => [kind, { orders: [], offsets: [], lengths: [] }]),
  )
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

  async add(kind: Kind, fact: RowsByKind[Kind]): Promise<void> {
    const row = Buffer.from(`${JSON.stringify(fact)}\n`)
    const { number, id } = fact as { number?: number; id?: number }
    const positions = this.#positions.get(kind)!
    positions.orders.push(number ?? id ?? 0)
    positions.offsets.push(this.#end)
    positions.lengths.push(row.length)
    this.#end += row.length
    this.#unwritten.push(row)
    this.#unwrittenBytes += row.length
    if (this.#unwrittenBytes >= WRITE_BYTES) await this.#write()
  }

  count(kind: Kind): number {
    return this.#positions.get(kind)!.orders.length
  }

  /** Yields the rows of one kind, many in each chunk. */
  async *rows(kind: Kind): AsyncGenerator<Buffer> {
    await this.#write()
    const { orders, offsets, lengths } = this.#positions.get(kind)!
    const sorted = Uint32Array.from(orders.keys()).sort((a, b) => orders[a]! - orders[b]! || a - b)
    for (let from = 0; from < sorted.length; ) {
      let [to, bytes] = [from, 0]
      while (to < sorted.length && (to === from || bytes < READ_BYTES))
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
    await withWriteContext(this.#path, () => this.#file.appendFile(bytes), bytes.length)
  }
}

/** The facts of one kind within a blob: lines of JSON, deflated separately. */
export interface Section {
  kind: Kind
  start: number
  end: number
  count: number
  /** The CRC-32 of the stored bytes. */
  crc32: number
}

/** Writes the facts of a repository as one blob with a section for each kind, so that each kind can be read alone. */
export async function writeRows(
  blobs: BlobStore,
  key: string,
  spool: RowSpool,
  signal: AbortSignal,
): Promise<{ segment: SegmentRecord; sections: Section[] }> {
  const sections: Section[] = []
  const sha256 = createHash('sha256')
  let [length, plainLength] = [0, 0]

  const rowsOf = (kind: Kind) =>
    onChunk(spool.rows(kind), (rows) => {
      plainLength += rows.length
    })

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const kind of KINDS) {
      const count = spool.count(kind)
      if (count === 0) continue
      const start = length
      let crc = 0
      const deflated = createDeflateRaw()
      pipeline(rowsOf(kind), deflated, () => {})
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
  const digests = { crc32: 0, storedCrc32: null, sha256: sha256.digest('hex') }
  return { segment: { key, length, plainLength, ...digests }, sections }
}

/** Reads the facts of one kind. Throws SegmentDamaged if they differ from what was written, perhaps only after the last row. */
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
  const checked = onChunk(stored as AsyncIterable<Buffer>, (piece) => {
    crc = crc32(piece, crc)
  })
  pipeline(checked, plain, (error) => {
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
    const isCorrupt = error instanceof SyntaxError || codeOf(error)?.startsWith('Z_')
    throw isCorrupt ? new SegmentDamaged(key, 'it cannot be inflated', { cause: error }) : error
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

/** The description of a blob of rows in the database. */
export interface RowsContents {
  /** The URL of the forge: texts contain its addresses. */
  forge: string
  sections: Section[]
  /** A digest of the list of files in each folder, null if there are none. */
  files: Record<FilesFolder, string | null>
  losses: Loss[]
}

/** The folders of the files of records in the archive. */
export const FILES_FOLDERS = ['attachments', 'release_assets'] as const
export type FilesFolder = (typeof FILES_FOLDERS)[number]

/** The description of a segment of files in the database. */
export interface FilesContents {
  full_name: string
  files: ManifestFile[]
  /** The files that are missing in the segment, each with the reason. */
  missing: Loss[]
}
