import { hash } from 'node:crypto'
import {
  MANIFEST_PATH,
  type Manifest,
  type ManifestMetadata,
  type ManifestRepository,
  type ManifestSegment,
} from '../archive/manifest.ts'
import type { SegmentEntry } from '../archive/write-segment.ts'
import { batchesOf } from '../ground/batches.ts'
import type { ExportedRepository } from '../migrations/export-store.ts'
import type { Migration } from '../migrations/migration.ts'
import type { SegmentRecord } from '../migrations/segment-store.ts'
import type { Addresses } from '../repositories/addresses.ts'
import { fullNameOf } from '../repositories/facts.ts'
import type { CoveredOrganization } from './covered-organizations.ts'
import { organizationRecord, peopleIn, repositoryRecord, userRecord } from './metadata-records.ts'
import { protectedBranchRecords } from './protected-branches.ts'
import type { SegmentContents } from './segment-contents.ts'

export interface MetadataParts {
  migration: Pick<Migration, 'guid' | 'owner' | 'options' | 'createdAt'>
  repositories: readonly ExportedRepository[]
  organizations: readonly CoveredOrganization[]
  segments: ReadonlyMap<string, SegmentRecord & { contents: string | null }>
  addresses: Addresses
  generator: string
  /** When the archive is written. */
  createdAt: number
}

const SCHEMA = { version: '1.0.1' }
const RECORDS_IN_A_FILE = 100

/** Entries, and what the manifest says of those that are files. */
export interface Metadata {
  entries: SegmentEntry[]
  files: ManifestMetadata['files']
}

/** All of the archive that is in no repository, as the flags of the migration will have it, but for the manifest. */
export function metadataEntries(parts: MetadataParts): Metadata {
  const { createdAt } = parts.migration
  const written = filesOf(parts).map(([path, value]) => ({ path, bytes: jsonBytes(value) }))
  return {
    entries: [
      ...written.map(({ path, bytes }) => fileEntry(path, bytes, createdAt)),
      ...foldersOf(segmentsIn(parts)).map((path) => directoryEntry(path, createdAt)),
    ],
    files: written.map(({ path, bytes }) => ({
      path,
      size: bytes.length,
      sha256: hash('sha256', bytes, 'hex'),
    })),
  }
}

function filesOf(parts: MetadataParts): [path: string, value: unknown][] {
  const { migration, addresses, organizations } = parts
  const { excludeMetadata, orgMetadataOnly, excludeGitData } = migration.options
  const asked = parts.repositories.filter(({ reason }) => reason === null)
  const facts = asked.map((repository) => repository.facts).sort((a, b) => a.id - b.id)
  const hasWiki = wikisOf(parts)

  const people = peopleIn(migration.owner, facts, organizations)
  const users = people.map((person) => userRecord(person, addresses))
  return [
    ['schema.json', SCHEMA],
    ...(excludeMetadata || orgMetadataOnly ? [] : recordFiles('users', users)),
    ...recordFiles(
      'organizations',
      organizations.map((each) => organizationRecord(each, addresses)),
    ),
    ...recordFiles(
      'repositories',
      facts.map((each) =>
        repositoryRecord(
          each,
          {
            hasWikiInArchive: !excludeGitData && hasWiki(fullNameOf(each)),
            migrationOwner: migration.owner,
          },
          addresses,
        ),
      ),
    ),
    ...(excludeMetadata || orgMetadataOnly
      ? []
      : recordFiles(
          'protected_branches',
          facts.flatMap((each) => protectedBranchRecords(each, migration.owner, addresses)),
        )),
  ]
}

/** The last entry of all: it names what comes before it. */
export function manifestEntry(parts: MetadataParts, metadata: ManifestMetadata): SegmentEntry {
  return fileEntry(MANIFEST_PATH, jsonBytes(manifestOf(parts, metadata)), parts.migration.createdAt)
}

/** A repository's segment begins with its own folder; those above are shared, and no path may come twice. */
function foldersOf(repositories: readonly ManifestRepository[]): string[] {
  const owners = new Set(repositories.map(({ full_name }) => full_name.split('/')[0]))
  return owners.size === 0
    ? []
    : ['repositories', ...[...owners].map((owner) => `repositories/${owner}`)]
}

/** No records, no file. */
function recordFiles(plural: string, records: readonly unknown[]): [string, unknown][] {
  return [...batchesOf(records, RECORDS_IN_A_FILE)].map((batch, index) => [
    `${plural}_${String(index + 1).padStart(6, '0')}.json`,
    batch,
  ])
}

function manifestOf(parts: MetadataParts, metadata: ManifestMetadata): Manifest {
  const { migration, repositories, generator, createdAt } = parts
  return {
    format: 3,
    generator,
    migration_guid: migration.guid,
    created_at: new Date(createdAt).toISOString(),
    repositories: segmentsIn(parts),
    skipped: repositories.flatMap(({ facts, reason }) =>
      reason === null ? [] : [{ full_name: fullNameOf(facts), reason }],
    ),
    metadata,
  }
}

function segmentsIn({ repositories, segments }: MetadataParts): ManifestRepository[] {
  return repositories.flatMap(({ segmentKey }) => {
    const segment = segmentKey === null ? undefined : segments.get(segmentKey)
    if (!segment?.contents) return []
    const contents = JSON.parse(segment.contents) as SegmentContents
    return [{ ...contents, segment: digestsOf(segment) }]
  })
}

export function digestsOf({ sha256, length, plainLength, crc32 }: SegmentRecord): ManifestSegment {
  return { sha256, length, plain_length: plainLength, crc32 }
}

function wikisOf({ segments }: MetadataParts): (fullName: string) => boolean {
  const withWiki = new Set<string>()
  for (const { contents } of segments.values()) {
    const { full_name, wiki } = JSON.parse(contents ?? '{}') as Partial<SegmentContents>
    if (full_name && wiki) withWiki.add(full_name)
  }
  return (fullName) => withWiki.has(fullName)
}

function directoryEntry(path: string, modifiedAt: number): SegmentEntry {
  return { kind: 'directory', path, modifiedAt }
}

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}

function fileEntry(path: string, bytes: Buffer, modifiedAt: number): SegmentEntry {
  return { kind: 'file', path, size: bytes.length, modifiedAt, packed: false, open: () => [bytes] }
}
