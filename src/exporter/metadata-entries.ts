import type { Account } from '../accounts/account.ts'
import { MANIFEST_PATH, type Manifest } from '../archive/manifest.ts'
import type { SegmentEntry } from '../archive/write-segment.ts'
import { batchesOf } from '../ground/batches.ts'
import type { ExportedRepository } from '../migrations/export-store.ts'
import type { Migration } from '../migrations/migration.ts'
import type { SegmentRecord } from '../migrations/segment-store.ts'
import type { Addresses } from '../repositories/addresses.ts'
import { fullNameOf } from '../repositories/facts.ts'
import {
  organizationRecord,
  organizationsIn,
  peopleIn,
  repositoryRecord,
  userRecord,
} from './metadata-records.ts'
import type { SegmentContents } from './segment-contents.ts'

export interface MetadataParts {
  migration: Pick<Migration, 'guid' | 'owner' | 'options'>
  repositories: readonly ExportedRepository[]
  /** Of a migration that covers nothing else. */
  organizations: readonly Account[]
  segments: ReadonlyMap<string, SegmentRecord & { contents: string | null }>
  addresses: Addresses
  generator: string
  createdAt: number
}

const SCHEMA = { version: '1.0.1' }
const RECORDS_IN_A_FILE = 100

/** All of the archive that is in no repository, as the flags of the migration will have it. */
export function metadataEntries(parts: MetadataParts): SegmentEntry[] {
  const { migration, addresses, createdAt } = parts
  const { excludeMetadata, orgMetadataOnly, excludeGitData } = migration.options
  const asked = parts.repositories.filter(({ reason }) => reason === null)
  const facts = asked.map((repository) => repository.facts).sort((a, b) => a.id - b.id)
  const hasWiki = wikisOf(parts)
  const manifest = manifestOf(parts)

  const users = peopleIn(migration.owner, facts).map((person) => userRecord(person, addresses))
  const organizations = [...parts.organizations, ...organizationsIn(facts)]
  const files: [path: string, value: unknown][] = [
    ['schema.json', SCHEMA],
    ...(excludeMetadata || orgMetadataOnly ? [] : recordFiles('users', users)),
    ...recordFiles(
      'organizations',
      organizations.map((account) => organizationRecord(account, addresses)),
    ),
    ...recordFiles(
      'repositories',
      facts.map((each) =>
        repositoryRecord(
          each,
          {
            hasWikiInArchive: !excludeGitData && hasWiki(fullNameOf(each)),
            topicsBy: migration.owner.login,
          },
          addresses,
        ),
      ),
    ),
    [MANIFEST_PATH, manifest],
  ]
  return [
    ...files.map(([path, value]) => jsonEntry(path, value, createdAt)),
    ...foldersOf(manifest).map((path) => directoryEntry(path, createdAt)),
  ]
}

/** A repository's segment begins with its own folder; those above are shared, and no path may come twice. */
function foldersOf({ repositories }: Manifest): string[] {
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

function manifestOf(parts: MetadataParts): Manifest {
  const { migration, repositories, segments, generator, createdAt } = parts
  return {
    format: 1,
    generator,
    migration_guid: migration.guid,
    created_at: new Date(createdAt).toISOString(),
    repositories: repositories.flatMap(({ segmentKey }) => {
      const segment = segmentKey === null ? undefined : segments.get(segmentKey)
      if (!segment?.contents) return []
      const { sha256, length, plainLength, crc32 } = segment
      return [
        {
          ...(JSON.parse(segment.contents) as SegmentContents),
          segment: { sha256, length, plain_length: plainLength, crc32 },
        },
      ]
    }),
    omitted: repositories.flatMap(({ facts, reason }) =>
      reason === null ? [] : [{ full_name: fullNameOf(facts), reason }],
    ),
  }
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

function jsonEntry(path: string, value: unknown, modifiedAt: number): SegmentEntry {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return { kind: 'file', path, size: bytes.length, modifiedAt, packed: false, open: () => [bytes] }
}
