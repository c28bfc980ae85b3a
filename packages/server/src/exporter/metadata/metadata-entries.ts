import { hash } from 'node:crypto'
import {
  digestsOf,
  SCHEMA,
  type SegmentContents,
} from '@godwit/archive/formats/github-archive/segment-contents'
import { ISSUE_TRACKER_KINDS } from '@godwit/archive/records/record-kinds'
import { splitIntoFiles } from '@godwit/archive/records/write-records'
import {
  MANIFEST_FORMAT,
  MANIFEST_PATH,
  type Manifest,
  type ManifestFile,
  type ManifestMetadata,
  type ManifestSegment,
} from '@godwit/archive/tar/manifest'
import type { SegmentEntry } from '@godwit/archive/tar/write-segment'
import { nextTurn } from '@godwit/lib/turns'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import type { Migration } from '../../migrations/migration.ts'
import { archivedKeysOf } from '../../migrations/outcomes.ts'
import type { StoredContents } from '../../migrations/segment-store.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import { fullNameOf, type RepositoryMetadata } from '../../repositories/repository-metadata.ts'
import type { ArchivedRecords } from '../records/archived-records.ts'
import { FILES_FOLDERS, type FilesContents } from '../records/record-rows.ts'
import { type CoveredOrganization, hostUrlsOf } from './index-records.ts'
import {
  branchRecords,
  organizationRecords,
  repositoryRecords,
  teamRecords,
  userRecords,
  withForgeSpelling,
} from './merged-records.ts'

export interface MetadataDependencies {
  migration: Pick<Migration, 'guid' | 'owner' | 'options' | 'createdAt'>
  repositories: readonly ExportedRepository[]
  organizations: readonly CoveredOrganization[]
  segmentSummary: Awaited<ReturnType<typeof summarizeSegments>>
  /** The records from the forge, if the archive has any. */
  records: ArchivedRecords | undefined
  addresses: Addresses
  generator: string
  /** When the archive is written, in epoch milliseconds. */
  createdAt: number
}

/**
 * Yields everything that the migration's options include, except git data and the manifest. Adds each file to `files`, which the
 * manifest lists. Only one file is in memory at a time.
 */
export async function* metadataEntries(
  dependencies: MetadataDependencies,
  files: ManifestFile[],
): AsyncGenerator<SegmentEntry> {
  const { createdAt } = dependencies.migration
  for await (const { name: path, text } of filesOf(dependencies)) {
    const bytes = Buffer.from(text)
    const size = bytes.length
    files.push({ path, size, sha256: hash('sha256', bytes, 'hex') })
    const open = () => [bytes]
    yield { kind: 'file', path, size, modifiedAt: createdAt, packed: false, open }
  }
  for (const path of foldersOf(dependencies))
    yield { kind: 'directory', path, modifiedAt: createdAt }
}

async function* filesOf(
  dependencies: MetadataDependencies,
): AsyncGenerator<{ name: string; text: string }> {
  const { migration, records } = dependencies
  const { excludeMetadata, orgMetadataOnly, excludeReleases, excludeGitData } = migration.options
  const hasAllMetadata = !excludeMetadata && !orgMetadataOnly
  const addresses = records
    ? withForgeSpelling(dependencies.addresses, records)
    : dependencies.addresses
  const metadata = dependencies.repositories
    .flatMap(({ metadata, reason }) => (reason === null ? metadata : []))
    .sort((a, b) => a.id - b.id)
  const urls = hostUrlsOf(addresses)

  yield { name: 'schema.json', text: SCHEMA }
  if (hasAllMetadata) yield* splitIntoFiles('users', userRecords(dependencies, metadata, addresses))
  yield* splitIntoFiles('organizations', organizationRecords(dependencies, urls))
  if (records) yield* splitIntoFiles('teams', teamRecords(records, urls))
  const { owner: migrationOwner } = migration
  const hasWikiInArchive = (each: RepositoryMetadata) =>
    !excludeGitData && dependencies.segmentSummary.withWiki.has(fullNameOf(each))
  const options = { migrationOwner, hasWikiInArchive }
  yield* splitIntoFiles('repositories', repositoryRecords(metadata, records, urls, options))
  if (records)
    for (const kind of ISSUE_TRACKER_KINDS)
      if (kind !== 'releases' || !excludeReleases)
        yield* splitIntoFiles(kind, records.records(kind, urls))
  if (hasAllMetadata)
    yield* splitIntoFiles('protected_branches', branchRecords(dependencies, metadata, urls))
  if (records) yield* splitIntoFiles('attachments', records.records('attachments', urls))
}

/** Long lists are written item by item. */
type StreamedManifest = Omit<Manifest, 'repositories' | 'stored_files'> & {
  repositories: MeasuredList
  stored_files: MeasuredList
}

/** Returns the manifest: the last entry of the archive, which lists all others. */
export function manifestEntry(
  dependencies: MetadataDependencies,
  metadata: ManifestMetadata,
): SegmentEntry {
  const { migration, repositories, generator, createdAt, segmentSummary } = dependencies
  const losses = repositories.flatMap(({ metadata, reason, records }) =>
    reason === null && records
      ? records.losses.map((loss) => ({ full_name: fullNameOf(metadata), ...loss }))
      : [],
  )
  const manifest: StreamedManifest = {
    format: MANIFEST_FORMAT,
    generator,
    migration_guid: migration.guid,
    created_at: new Date(createdAt).toISOString(),
    repositories: segmentSummary.repositories,
    skipped: repositories.flatMap(({ metadata, reason }) =>
      reason === null ? [] : [{ full_name: fullNameOf(metadata), reason }],
    ),
    metadata,
    stored_files: segmentSummary.storedFiles,
    ...(losses.length > 0 && { losses }),
  }
  const fields = Object.entries(manifest)
  return {
    kind: 'file',
    path: MANIFEST_PATH,
    size: jsonSize(fields),
    modifiedAt: migration.createdAt,
    packed: false,
    open: () => writeJson(fields),
  }
}

/** Returns the folders above the segments. A segment begins with its own folder; those above are shared and must occur only once. */
function foldersOf({ segmentSummary: { owners, filesFolders } }: MetadataDependencies): string[] {
  return [
    ...FILES_FOLDERS.filter((folder) => filesFolders.has(folder)),
    ...(owners.size === 0 ? [] : ['repositories']),
    ...[...owners].map((owner) => `repositories/${owner}`),
  ]
}

/** Summarizes all segments of repositories, which the metadata and the manifest need. */
export async function summarizeSegments(
  exported: readonly ExportedRepository[],
  contents: StoredContents,
) {
  const owners = new Set<string>()
  /** The full names of repositories with a wiki in the archive. */
  const withWiki = new Set<string>()
  const filesFolders = new Set<string>()
  const gitKeys = exported.flatMap(({ segmentKey }) => segmentKey ?? [])
  const filesKeys = exported.flatMap(({ records }) => archivedKeysOf(records))
  const read = <T extends object>(keys: readonly string[]) =>
    async function* (): AsyncGenerator<T & { segment: ManifestSegment }> {
      for (const key of keys) {
        const found = await contents.of<T>(key)
        // Missing files are among the losses in the manifest.
        if (found)
          yield { ...found, missing: undefined, segment: digestsOf(contents.segments.get(key)!) }
      }
    }
  return {
    /** In the order of the archive. */
    segmentKeys: [...gitKeys, ...filesKeys],
    repositories: await measuredList(read<SegmentContents>(gitKeys), ({ full_name, wiki }) => {
      owners.add(full_name.split('/')[0]!)
      if (wiki) withWiki.add(full_name)
    }),
    storedFiles: await measuredList(read<FilesContents>(filesKeys), ({ files }) => {
      for (const { path } of files) filesFolders.add(path.split('/')[0]!)
    }),
    owners,
    withWiki,
    filesFolders,
  }
}

/** A list that is too long for memory. Its size is known before it is written, because a tar entry begins with it. */
interface MeasuredList {
  /** The number of bytes of the items as JSON. */
  bytes: number
  /** Returns the same items each time. */
  items(): AsyncIterable<unknown>
}

export async function measuredList<T>(
  items: () => AsyncIterable<T>,
  onItem: (item: T) => void,
): Promise<MeasuredList> {
  let bytes = 0
  let count = 0
  for await (const item of items()) {
    onItem(item)
    bytes += Buffer.byteLength(itemText(item, count))
    count += 1
    await nextTurn()
  }
  return { bytes: count === 0 ? 0 : bytes + LIST_END.length, items }
}

/** A field of the manifest. A MeasuredList is written item by item. */
type Field = [name: string, value: unknown]

const isMeasured = (value: unknown): value is MeasuredList =>
  typeof value === 'object' && value !== null && 'items' in value

/** Returns the number of bytes that writeJson writes. */
export function jsonSize(fields: readonly Field[]): number {
  return fields.reduce(
    (size, [name, value], at) =>
      size +
      Buffer.byteLength(fieldText(name, at)) +
      (isMeasured(value) ? 2 + value.bytes : Buffer.byteLength(indented(value, 2))),
    OBJECT_END.length,
  )
}

/** Writes the text of `JSON.stringify(object, null, 2)` and a newline, without building it in memory. */
export async function* writeJson(fields: readonly Field[]): AsyncGenerator<Buffer> {
  for (const [at, [name, value]] of fields.entries()) {
    yield Buffer.from(fieldText(name, at))
    if (!isMeasured(value)) {
      yield Buffer.from(indented(value, 2))
      continue
    }
    yield Buffer.from('[')
    let count = 0
    for await (const item of value.items()) yield Buffer.from(itemText(item, count++))
    yield Buffer.from(count === 0 ? ']' : `${LIST_END}]`)
  }
  yield Buffer.from(OBJECT_END)
}

const OBJECT_END = '\n}\n'
const LIST_END = '\n  '

const fieldText = (name: string, at: number): string =>
  `${at === 0 ? '{' : ','}\n  ${JSON.stringify(name)}: `

const itemText = (item: unknown, at: number): string =>
  `${at === 0 ? '' : ','}\n    ${indented(item, 4)}`

/** Strings in JSON contain no newlines, so all newlines can be indented. */
const indented = (value: unknown, by: number): string =>
  JSON.stringify(value, null, 2).replaceAll('\n', `\n${' '.repeat(by)}`)
