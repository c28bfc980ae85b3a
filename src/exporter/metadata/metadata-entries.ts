import { hash } from 'node:crypto'
import {
  MANIFEST_FORMAT,
  MANIFEST_PATH,
  type Manifest,
  type ManifestFile,
  type ManifestMetadata,
  type ManifestSegment,
} from '../../archive/manifest.ts'
import type { SegmentEntry } from '../../archive/write-segment.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import type { Migration } from '../../migrations/migration.ts'
import { archivedKeysOf } from '../../migrations/record-store.ts'
import type { SegmentRecord, StoredContents } from '../../migrations/segment-store.ts'
import { SAID_KINDS } from '../../records/facts.ts'
import { splitIntoFiles } from '../../records/split-into-files.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf } from '../../repositories/facts.ts'
import type { SegmentContents } from '../make-segment.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import { FILES_FOLDERS, type FilesContents } from '../records/records-segments.ts'
import type { CoveredOrganization } from './covered-organizations.ts'
import { recordAddressesOf } from './host-addresses.ts'
import { type MeasuredList, measuredList, sizeOf, textOf } from './manifest-text.ts'
import {
  branchRecords,
  organizationRecords,
  repositoryRecords,
  teamRecords,
  userRecords,
  withForgeSpelling,
} from './own-and-forge-records.ts'

export interface MetadataParts {
  migration: Pick<Migration, 'guid' | 'owner' | 'options' | 'createdAt'>
  repositories: readonly ExportedRepository[]
  organizations: readonly CoveredOrganization[]
  contents: StoredContents
  survey: Survey
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
  const addresses = records ? withForgeSpelling(parts.addresses, records) : parts.addresses
  const asked = parts.repositories.filter(({ reason }) => reason === null)
  const facts = asked.map((repository) => repository.facts).sort((a, b) => a.id - b.id)
  const links = recordAddressesOf(addresses)

  yield { name: 'schema.json', text: jsonText(SCHEMA) }
  if (isWhole) yield* splitIntoFiles('users', userRecords(parts, facts, addresses))
  yield* splitIntoFiles('organizations', organizationRecords(parts, addresses))
  if (records) yield* splitIntoFiles('teams', teamRecords(records, links))
  yield* splitIntoFiles(
    'repositories',
    repositoryRecords(facts, records, addresses, {
      hasWikiInArchive: (each) =>
        !migration.options.excludeGitData && parts.survey.withWiki.has(fullNameOf(each)),
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
  const fields = Object.entries(manifestOf(parts, metadata))
  return {
    kind: 'file',
    path: MANIFEST_PATH,
    size: sizeOf(fields),
    modifiedAt: parts.migration.createdAt,
    packed: false,
    open: () => textOf(fields),
  }
}

/** A repository's segment begins with its own folder; those above are shared, and no path may come twice. */
function foldersOf({ survey: { owners, filesFolders } }: MetadataParts): string[] {
  return [
    ...FILES_FOLDERS.filter((folder) => filesFolders.has(folder)),
    ...(owners.size === 0 ? [] : ['repositories']),
    ...[...owners].map((owner) => `repositories/${owner}`),
  ]
}

/** The lists that may be long come item by item. */
type StreamedManifest = Omit<Manifest, 'repositories' | 'stored_files'> & {
  repositories: MeasuredList
  stored_files: MeasuredList
}

function manifestOf(parts: MetadataParts, metadata: ManifestMetadata): StreamedManifest {
  const { migration, repositories, generator, createdAt, survey } = parts
  return {
    format: MANIFEST_FORMAT,
    generator,
    migration_guid: migration.guid,
    created_at: new Date(createdAt).toISOString(),
    repositories: survey.repositories,
    skipped: repositories.flatMap(({ facts, reason }) =>
      reason === null ? [] : [{ full_name: fullNameOf(facts), reason }],
    ),
    metadata,
    stored_files: survey.storedFiles,
  }
}

/** What is to be known of all segments before the first of their descriptions is written. */
export interface Survey {
  repositories: MeasuredList
  storedFiles: MeasuredList
  /** Of the repositories that are in the archive. */
  owners: ReadonlySet<string>
  withWiki: ReadonlySet<string>
  filesFolders: ReadonlySet<string>
}

export async function surveySegments(
  exported: readonly ExportedRepository[],
  contents: StoredContents,
): Promise<Survey> {
  const [owners, withWiki, filesFolders] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const ofGit = exported.flatMap(({ segmentKey }) => segmentKey ?? [])
  const ofFiles = exported.flatMap(({ records }) => archivedKeysOf(records))
  const read = <T extends object>(keys: readonly string[]) =>
    async function* (): AsyncGenerator<T & { segment: ManifestSegment }> {
      for (const key of keys) {
        const said = await contents.of<T>(key)
        // What a segment does without is said in the report.
        if (said)
          yield { ...said, missing: undefined, segment: digestsOf(contents.segments.get(key)!) }
      }
    }
  return {
    repositories: await measuredList(read<SegmentContents>(ofGit), ({ full_name, wiki }) => {
      owners.add(full_name.split('/')[0]!)
      if (wiki) withWiki.add(full_name)
    }),
    storedFiles: await measuredList(read<FilesContents>(ofFiles), ({ files }) => {
      for (const { path } of files) filesFolders.add(path.split('/')[0]!)
    }),
    ...{ owners, withWiki, filesFolders },
  }
}

export function digestsOf({ sha256, length, plainLength, crc32 }: SegmentRecord): ManifestSegment {
  return { sha256, length, plain_length: plainLength, crc32 }
}

function directoryEntry(path: string, modifiedAt: number): SegmentEntry {
  return { kind: 'directory', path, modifiedAt }
}

const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

function fileEntry(path: string, bytes: Buffer, modifiedAt: number): SegmentEntry {
  return { kind: 'file', path, size: bytes.length, modifiedAt, packed: false, open: () => [bytes] }
}
