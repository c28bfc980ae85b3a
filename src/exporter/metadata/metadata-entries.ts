import { hash } from 'node:crypto'
import {
  MANIFEST_PATH,
  type Manifest,
  type ManifestFile,
  type ManifestMetadata,
  type ManifestRepository,
  type ManifestSegment,
  type ManifestStoredFiles,
} from '../../archive/manifest.ts'
import type { SegmentEntry } from '../../archive/write-segment.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import type { Migration } from '../../migrations/migration.ts'
import { archivedKeysOf } from '../../migrations/record-store.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'
import { SAID_KINDS } from '../../records/facts.ts'
import { splitIntoFiles } from '../../records/split-into-files.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf } from '../../repositories/facts.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import { FILES_FOLDERS, type FilesContents } from '../records/records-segments.ts'
import type { SegmentContents } from '../segment-contents.ts'
import type { CoveredOrganization } from './covered-organizations.ts'
import { recordAddressesOf } from './host-addresses.ts'
import {
  branchRecords,
  organizationRecords,
  repositoryRecords,
  speltAs,
  teamRecords,
  userRecords,
} from './own-and-forge-records.ts'

export interface MetadataParts {
  migration: Pick<Migration, 'guid' | 'owner' | 'options' | 'createdAt'>
  repositories: readonly ExportedRepository[]
  organizations: readonly CoveredOrganization[]
  segments: ReadonlyMap<string, SegmentRecord & { contents: string | null }>
  /** What people said, where that is part of the archive. */
  records: ArchivedRecords | undefined
  addresses: Addresses
  generator: string
  /** When the archive is written. */
  createdAt: number
}

const SCHEMA = { version: '1.0.1' }

/**
 * All of the archive that is in no repository, as the flags of the migration will have it, but for the manifest: what that says
 * of files is noted in `files` as they are written. One file is held at a time.
 */
export async function* metadataEntries(
  parts: MetadataParts,
  files: ManifestFile[],
): AsyncGenerator<SegmentEntry> {
  const { createdAt } = parts.migration
  for await (const { name: path, text } of filesOf(parts)) {
    const bytes = Buffer.from(text)
    files.push({ path, size: bytes.length, sha256: hash('sha256', bytes, 'hex') })
    yield fileEntry(path, bytes, createdAt)
  }
  for (const path of foldersOf(parts)) yield directoryEntry(path, createdAt)
}

async function* filesOf(parts: MetadataParts): AsyncGenerator<{ name: string; text: string }> {
  const { migration, records } = parts
  const { excludeMetadata, orgMetadataOnly, excludeReleases } = migration.options
  const isWhole = !excludeMetadata && !orgMetadataOnly
  const addresses = records ? speltAs(parts.addresses, records) : parts.addresses
  const asked = parts.repositories.filter(({ reason }) => reason === null)
  const facts = asked.map((repository) => repository.facts).sort((a, b) => a.id - b.id)
  const links = recordAddressesOf(addresses)
  const hasWiki = wikisOf(parts)

  yield { name: 'schema.json', text: jsonText(SCHEMA) }
  if (isWhole) yield* splitIntoFiles('users', userRecords(parts, facts, addresses))
  yield* splitIntoFiles('organizations', organizationRecords(parts, addresses))
  if (records) yield* splitIntoFiles('teams', teamRecords(records, links))
  yield* splitIntoFiles(
    'repositories',
    repositoryRecords(facts, records, addresses, {
      hasWikiInArchive: (each) => !migration.options.excludeGitData && hasWiki(fullNameOf(each)),
      migrationOwner: migration.owner,
    }),
  )
  if (records)
    for (const kind of SAID_KINDS)
      if (kind !== 'releases' || !excludeReleases)
        yield* splitIntoFiles(kind, records.records(kind, links))
  if (isWhole)
    yield* splitIntoFiles('protected_branches', branchRecords(parts, facts, addresses, links))
  if (records) yield* splitIntoFiles('attachments', records.records('attachments', links))
}

/** The last entry of all: it names what comes before it. */
export function manifestEntry(parts: MetadataParts, metadata: ManifestMetadata): SegmentEntry {
  return fileEntry(
    MANIFEST_PATH,
    Buffer.from(jsonText(manifestOf(parts, metadata))),
    parts.migration.createdAt,
  )
}

/** A repository's segment begins with its own folder; those above are shared, and no path may come twice. */
function foldersOf(parts: MetadataParts): string[] {
  const owners = new Set(segmentsIn(parts).map(({ full_name }) => full_name.split('/')[0]))
  const stored = storedFilesIn(parts).flatMap(({ files }) => files)
  return [
    ...FILES_FOLDERS.filter((folder) => stored.some(({ path }) => path.startsWith(`${folder}/`))),
    ...(owners.size === 0 ? [] : ['repositories']),
    ...[...owners].map((owner) => `repositories/${owner}`),
  ]
}

function manifestOf(parts: MetadataParts, metadata: ManifestMetadata): Manifest {
  const { migration, repositories, generator, createdAt } = parts
  const stored = storedFilesIn(parts)
  return {
    format: stored.length > 0 ? 4 : 3,
    generator,
    migration_guid: migration.guid,
    created_at: new Date(createdAt).toISOString(),
    repositories: segmentsIn(parts),
    skipped: repositories.flatMap(({ facts, reason }) =>
      reason === null ? [] : [{ full_name: fullNameOf(facts), reason }],
    ),
    metadata,
    ...(stored.length > 0 && { stored_files: stored }),
  }
}

/** The files of records, as segments of their own. */
function storedFilesIn({ repositories, segments }: MetadataParts): ManifestStoredFiles[] {
  const keys = repositories.flatMap(({ records, reason }) =>
    reason === null ? archivedKeysOf(records) : [],
  )
  return keys.flatMap((key) => {
    const segment = segments.get(key)
    if (!segment?.contents) return []
    const contents = JSON.parse(segment.contents) as FilesContents
    return [{ ...contents, segment: digestsOf(segment) }]
  })
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

const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

function fileEntry(path: string, bytes: Buffer, modifiedAt: number): SegmentEntry {
  return { kind: 'file', path, size: bytes.length, modifiedAt, packed: false, open: () => [bytes] }
}
