import { randomUUID } from 'node:crypto'
import { writeSegment } from '../archive/write-segment.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { type SegmentRecord, segmentsByKey } from '../migrations/segment-store.ts'
import type { Addresses } from '../repositories/addresses.ts'
import { type MetadataParts, metadataEntries } from './metadata-entries.ts'

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
  /** Comes first. Written just now, and no row names it yet. */
  metadata: SegmentRecord
  repositories: SegmentRecord[]
}

export async function writeMetadata(
  { db, blobs, now, addresses, generator }: MetadataWriterParts,
  covered: Covered,
  signal: AbortSignal,
): Promise<ArchiveSegments> {
  const keys = covered.repositories.flatMap(({ segmentKey }) => segmentKey ?? [])
  const segments = await segmentsByKey(db, keys)
  const entries = metadataEntries({ ...covered, segments, addresses, generator, createdAt: now() })
  const key = randomUUID()
  const written = await writeSegment(entries, (bytes) => blobs.put(key, bytes, { signal }))
  return { metadata: { key, ...written }, repositories: keys.map((each) => segments.get(each)!) }
}
