import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { crc32, createDeflateRaw, createInflateRaw } from 'node:zlib'
import { SegmentDamaged } from '../../archive/copy-archive.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { codeOf } from '../../lib/errno.ts'
import { onChunk } from '../../lib/on-chunk.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import { KINDS, type Kind, type RowsByKind } from './row-kinds.ts'
import type { RowSpool } from './row-spool.ts'

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
