import { randomUUID } from 'node:crypto'
import { type SegmentEntry, writeSegment } from '../archive/write-segment.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { type SegmentRecord, segmentsByKey } from '../migrations/segment-store.ts'
import type { Addresses } from '../repositories/addresses.ts'
import {
  digestsOf,
  type MetadataParts,
  manifestEntry,
  metadataEntries,
} from './metadata-entries.ts'

export interface MetadataWriterParts {
  db: Db
  blobs: BlobStore
  now: () => number
  addresses: Addresses
  /** What the manifest names as its maker. */
  generator: string
}

/** What the archive is to cover. */
export type Covered = Pick<MetadataParts, 'migration' | 'repositories' | 'organizations'>

/** All that an archive is made of. */
export interface ArchiveSegments {
  /** In the order of the archive. */
  all: SegmentRecord[]
  /** These two are this archive's alone. Written just now, and no row names them yet. */
  metadata: SegmentRecord
  manifest: SegmentRecord
  repositories: SegmentRecord[]
}

export async function writeMetadata(
  { db, blobs, now, addresses, generator }: MetadataWriterParts,
  covered: Covered,
  signal: AbortSignal,
): Promise<ArchiveSegments> {
  const keys = covered.repositories.flatMap(({ segmentKey }) => segmentKey ?? [])
  const segments = await segmentsByKey(db, keys)
  const parts = { ...covered, segments, addresses, generator, createdAt: now() }
  const write = async (entries: SegmentEntry[]): Promise<SegmentRecord> => {
    const key = randomUUID()
    return { key, ...(await writeSegment(entries, (bytes) => blobs.put(key, bytes, { signal }))) }
  }
  const { entries, files } = metadataEntries(parts)
  const metadata = await write(entries)
  const manifest = await write([manifestEntry(parts, { segment: digestsOf(metadata), files })])
  const repositories = keys.map((each) => segments.get(each)!)
  return { all: [metadata, ...repositories, manifest], metadata, manifest, repositories }
}
