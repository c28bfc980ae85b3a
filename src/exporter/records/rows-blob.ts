import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { createDeflateRaw, createInflateRaw } from 'node:zlib'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import { KINDS, type Kind, type RowsByKind } from './row-kinds.ts'
import type { RowSpool } from './row-spool.ts'

/** The facts of one kind within a blob: lines of JSON, deflated by themselves. */
export interface Section {
  kind: Kind
  start: number
  end: number
  count: number
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
      const deflated = createDeflateRaw()
      pipeline(Readable.from(counted(kind)), deflated, () => {})
      for await (const piece of deflated as AsyncIterable<Uint8Array>) {
        sha256.update(piece)
        length += piece.length
        yield piece
      }
      sections.push({ kind, start, end: length, count })
    }
  }

  await blobs.put(key, bytes(), { signal })
  const segment = { key, length, plainLength, crc32: 0, sha256: sha256.digest('hex') }
  return { segment, sections }
}

/** The facts of one kind, one at a time. */
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
  pipeline(stored, plain, (error) => {
    failure = error
  })
  let read = 0
  for await (const line of linesOf(plain)) {
    read++
    yield JSON.parse(line) as RowsByKind[K]
  }
  if (failure) throw failure
  if (read !== section.count) throw new Error(`the rows of ${kind} in ${key} are not whole`)
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
