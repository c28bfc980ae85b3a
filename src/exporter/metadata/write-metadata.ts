import { randomUUID } from 'node:crypto'
import { type Account, keyOf } from '../../accounts/account.ts'
import type { ManifestFile } from '../../archive/manifest.ts'
import { type SegmentEntry, writeSegment } from '../../archive/write-segment.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'
import { archivedKeysOf, keysOfRecords } from '../../migrations/record-store.ts'
import { type SegmentRecord, segmentsByKey } from '../../migrations/segment-store.ts'
import type { Organization } from '../../records/people.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { ArchivedRecords } from '../records/archived-records.ts'
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
export interface Covered
  extends Pick<MetadataParts, 'migration' | 'repositories' | 'organizations'> {
  /** Who gets it; without one, the operator. */
  viewer?: Account
}

/** All that an archive is made of. */
export interface ArchiveSegments {
  /** In the order of the archive. */
  all: SegmentRecord[]
  /** These two are this archive's alone. Written just now, and no row names them yet. */
  metadata: SegmentRecord
  manifest: SegmentRecord
  /** Of the repositories and of the files of their records. */
  repositories: SegmentRecord[]
}

export async function writeMetadata(
  { db, blobs, now, addresses, generator }: MetadataWriterParts,
  covered: Covered,
  signal: AbortSignal,
): Promise<ArchiveSegments> {
  const exported = covered.repositories.filter(({ reason }) => reason === null)
  const ofRecords = exported.flatMap(({ records }) => keysOfRecords(records))
  const ofGit = covered.repositories.flatMap(({ segmentKey }) => segmentKey ?? [])
  const segments = await segmentsByKey(db, [...ofGit, ...ofRecords])
  const records = await ArchivedRecords.open({
    ...{ blobs, segments, signal },
    repositories: exported.toSorted((a, b) => a.facts.id - b.facts.id),
    maySeeMembers: (organization) => maySee(covered.viewer, organization),
  })
  const parts = { ...covered, segments, records, addresses, generator, createdAt: now() }
  const write = async (
    entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
  ): Promise<SegmentRecord> => {
    const key = randomUUID()
    return { key, ...(await writeSegment(entries, (bytes) => blobs.put(key, bytes, { signal }))) }
  }
  const files: ManifestFile[] = []
  const metadata = await write(metadataEntries(parts, files))
  const manifest = await write([manifestEntry(parts, { segment: digestsOf(metadata), files })])
  const ofFiles = exported.flatMap((each) => archivedKeysOf(each.records))
  const repositories = [...ofGit, ...ofFiles].map((each) => segments.get(each)!)
  return { all: [metadata, ...repositories, manifest], metadata, manifest, repositories }
}

/** Who administers a repository of an organization need not be one of its members, and is not told who they are. */
function maySee(viewer: Account | undefined, { login, members }: Organization): boolean {
  if (!viewer || viewer.siteAdmin || keyOf(viewer.login) === keyOf(login)) return true
  return members.some((member) => keyOf(member.login) === keyOf(viewer.login))
}
