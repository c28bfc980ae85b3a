import { randomUUID } from 'node:crypto'
import { digestsOf } from '@godwit/archive/formats/github-archive/segment-contents'
import type { Organization } from '@godwit/archive/records/people'
import type { ManifestFile } from '@godwit/archive/tar/manifest'
import { type SegmentEntry, writeSegment } from '@godwit/archive/tar/write-segment'
import { type Account, nameKey } from '../../accounts/account.ts'
import { membersOf } from '../../accounts/membership-store.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import { keysOfRecords } from '../../migrations/outcomes.ts'
import {
  openContents,
  type SegmentRecord,
  type StoredContents,
} from '../../migrations/segment-store.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { openArchivedRecords } from '../records/archived-records.ts'
import type { CoveredOrganization } from './index-records.ts'
import {
  type MetadataDependencies,
  manifestEntry,
  metadataEntries,
  summarizeSegments,
} from './metadata-entries.ts'

export interface MetadataWriterDependencies {
  db: Db
  blobs: BlobStore
  now: () => number
  addresses: Addresses
  /** The program and version that the manifest names. */
  generator: string
}

interface Covered extends Pick<MetadataDependencies, 'migration' | 'repositories'> {
  /** Organizations to include in addition to the owners of the repositories. */
  organizations: readonly Account[]
  contents: StoredContents
  /** The account that gets the archive, undefined for the operator. */
  viewer?: Account
}

/** Opens the contents of all segments of these repositories. */
export const contentsOfAll = (
  db: Db,
  repositories: readonly ExportedRepository[],
): Promise<StoredContents> => openContents(db, repositories.flatMap(segmentKeysOf))

/** Returns the keys of a repository's git data and records. Returns none if it was not exported. */
export const segmentKeysOf = ({ segmentKey, records, reason }: ExportedRepository): string[] =>
  reason === null ? [segmentKey ?? [], keysOfRecords(records)].flat() : []

/**
 * Writes the segments of the metadata and the manifest, which belong to this archive alone. They have no row yet. `all` has the
 * segments in the order of the archive.
 */
export async function writeMetadata(
  { db, blobs, now, addresses, generator }: MetadataWriterDependencies,
  covered: Covered,
  signal: AbortSignal,
) {
  const exported = covered.repositories.filter(({ reason }) => reason === null)
  const { contents } = covered
  const records = await openArchivedRecords({
    blobs,
    contents,
    signal,
    api: addresses.api,
    repositories: exported.toSorted((a, b) => a.metadata.id - b.metadata.id),
    maySeeMembers: (organization) => maySeeMembers(covered.viewer, organization),
  })
  const segmentSummary = await summarizeSegments(exported, contents)
  const organizations = await coveredOrganizations(db, covered)
  const createdAt = now()
  const dependencies = {
    ...covered,
    organizations,
    segmentSummary,
    records,
    addresses,
    generator,
    createdAt,
  }
  const write = async (
    entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
  ): Promise<SegmentRecord> => {
    const key = randomUUID()
    return { key, ...(await writeSegment(entries, (bytes) => blobs.put(key, bytes, { signal }))) }
  }
  const files: ManifestFile[] = []
  const metadata = await write(metadataEntries(dependencies, files))
  const manifest = await write([
    manifestEntry(dependencies, { segment: digestsOf(metadata), files }),
  ])
  const segments = segmentSummary.segmentKeys.map((key) => contents.segments.get(key)!)
  return { all: [metadata, ...segments, manifest], metadata, manifest }
}

/** Returns the listed organizations and those that own exported repositories, with the members that the viewer may see. */
async function coveredOrganizations(
  db: Db,
  { organizations, repositories, viewer }: Covered,
): Promise<CoveredOrganization[]> {
  const owners = repositories.flatMap(({ metadata, reason }) =>
    reason === null ? metadata.owner : [],
  )
  const all = [...organizations, ...owners.filter(({ type }) => type === 'Organization')]
  const accounts = [...new Map(all.map((account) => [account.id, account])).values()]
  const members = await membersOf(db, accounts)
  return accounts.map((account) => {
    const found = members.get(account.id) ?? []
    const ids = [account.id, ...found.map((member) => member.account.id)]
    const isVisible = !viewer || viewer.siteAdmin || ids.includes(viewer.id)
    return { account, members: isVisible ? found : [] }
  })
}

/**
 * Whether the viewer may see the members of an organization of the forge. An administrator of one of its repositories need not be
 * a member, and then may not see the others.
 */
function maySeeMembers(viewer: Account | undefined, { login, members }: Organization): boolean {
  if (!viewer || viewer.siteAdmin || nameKey(viewer.login) === nameKey(login)) return true
  return members.some((member) => nameKey(member.login) === nameKey(viewer.login))
}
