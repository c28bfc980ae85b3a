import { randomUUID } from 'node:crypto'
import { type Account, nameKey } from '../../accounts/account.ts'
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
  /** The program and version that the manifest names. */
  generator: string
}

export interface Covered
  extends Pick<MetadataParts, 'migration' | 'repositories' | 'organizations' | 'contents'> {
  /** The account that gets the archive, undefined for the operator. */
  viewer?: Account
}

export interface ArchiveSegments {
  /** In the order of the archive. */
  all: SegmentRecord[]
  /** Metadata and manifest belong to this archive alone. They have no row yet. */
  metadata: SegmentRecord
  manifest: SegmentRecord
  /** The segments of the repositories and of the files of their records. */
  repositories: SegmentRecord[]
}

/** Opens the contents of all segments of these repositories. */
export const contentsOfAll = (
  db: Db,
  repositories: readonly ExportedRepository[],
): Promise<StoredContents> => StoredContents.open(db, repositories.flatMap(segmentKeysOf))

/** Returns the keys of a repository's git data and records, none if it was not exported. */
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
  const gitKeys = exported.flatMap(({ segmentKey }) => segmentKey ?? [])
  const filesKeys = exported.flatMap((each) => archivedKeysOf(each.records))
  const repositories = [...gitKeys, ...filesKeys].map((each) => contents.segments.get(each)!)
  return { all: [metadata, ...repositories, manifest], metadata, manifest, repositories }
}

/** An administrator of an organization's repository need not be a member, and then may not see the members. */
function maySee(viewer: Account | undefined, { login, members }: Organization): boolean {
  if (!viewer || viewer.siteAdmin || nameKey(viewer.login) === nameKey(login)) return true
  return members.some((member) => nameKey(member.login) === nameKey(viewer.login))
}
