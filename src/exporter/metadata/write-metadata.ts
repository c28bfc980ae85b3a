import { randomUUID } from 'node:crypto'
import { type Account, keyOf } from '../../accounts/account.ts'
import type { ManifestFile } from '../../archive/manifest.ts'
import { type SegmentEntry, writeSegment } from '../../archive/write-segment.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import { archivedKeysOf, keysOfRecords } from '../../migrations/record-store.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import { StoredContents } from '../../migrations/segment-store.ts'
import type { Organization } from '../../records/people.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { ArchivedRecords } from '../records/archived-records.ts'
import {
  digestsOf,
  type MetadataParts,
  manifestEntry,
  metadataEntries,
  surveySegments,
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
  extends Pick<MetadataParts, 'migration' | 'repositories' | 'organizations' | 'contents'> {
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

/** What was said of all segments that the archive of these is made of. */
export const contentsOfAll = (
  db: Db,
  repositories: readonly ExportedRepository[],
): Promise<StoredContents> => StoredContents.open(db, repositories.flatMap(segmentKeysOf))

/** Of its git data and of its records; of what is not exported, none. */
export const segmentKeysOf = ({ segmentKey, records, reason }: ExportedRepository): string[] =>
  reason === null ? [segmentKey ?? [], keysOfRecords(records)].flat() : []

export async function writeMetadata(
  { blobs, now, addresses, generator }: MetadataWriterParts,
  covered: Covered,
  signal: AbortSignal,
): Promise<ArchiveSegments> {
  const exported = covered.repositories.filter(({ reason }) => reason === null)
  const { contents } = covered
  const records = await ArchivedRecords.open({
    ...{ blobs, contents, signal },
    repositories: exported.toSorted((a, b) => a.facts.id - b.facts.id),
    maySeeMembers: (organization) => maySee(covered.viewer, organization),
  })
  const survey = await surveySegments(exported, contents)
  const parts = { ...covered, survey, records, addresses, generator, createdAt: now() }
  const write = async (
    entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
  ): Promise<SegmentRecord> => {
    const key = randomUUID()
    return { key, ...(await writeSegment(entries, (bytes) => blobs.put(key, bytes, { signal }))) }
  }
  const files: ManifestFile[] = []
  const metadata = await write(metadataEntries(parts, files))
  const manifest = await write([manifestEntry(parts, { segment: digestsOf(metadata), files })])
  const ofGit = exported.flatMap(({ segmentKey }) => segmentKey ?? [])
  const ofFiles = exported.flatMap((each) => archivedKeysOf(each.records))
  const repositories = [...ofGit, ...ofFiles].map((each) => contents.segments.get(each)!)
  return { all: [metadata, ...repositories, manifest], metadata, manifest, repositories }
}

/** Who administers a repository of an organization need not be one of its members, and is not told who they are. */
function maySee(viewer: Account | undefined, { login, members }: Organization): boolean {
  if (!viewer || viewer.siteAdmin || keyOf(viewer.login) === keyOf(login)) return true
  return members.some((member) => keyOf(member.login) === keyOf(viewer.login))
}
