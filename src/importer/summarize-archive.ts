import { isStoredFile, MANIFEST_PATH, parseManifest } from '../archive/manifest.ts'
import { type ArchiveEntry, textOf } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import { ArchiveDamaged } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { parseJson } from '../lib/json-shape.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import { kindOfFile, readRecordFile } from '../records/record-file.ts'
import { RepositoryTally, type TalliedRepository } from './repository-tally.ts'
import { NOT_UNPACKED, safeEntries } from './safe-entries.ts'

/** The keys are those of `--json`. */
export interface ArchiveSummary {
  made_by: string
  /** When it was written; of other makers, what the time of `schema.json` says. */
  made_at: string | null
  schema_version: string | null
  migration_guid: string | null
  has_manifest: boolean
  entries: number
  /** Unpacked. */
  bytes: number
  repositories: TalliedRepository[]
  /** How many there are of each kind. */
  records: Record<string, number>
  attachments: { files: number; bytes: number }
  lfs: { objects: number; bytes: number }
  skipped: { full_name: string; reason: string }[]
  warnings: string[]
}

/**
 * What is in an archive, from one pass over its bytes: nothing is written, and no git is run. It is not verified, but where
 * it turns out to be damaged, `damage` says so. Throws ArchiveNotSupported and ArchiveRefused.
 */
export async function summarizeArchive(
  archive: Bytes | Folder,
  signal: AbortSignal,
): Promise<{ summary: ArchiveSummary; damage: ArchiveDamaged | undefined }> {
  const summary: ArchiveSummary = {
    made_by: 'unknown',
    made_at: null,
    schema_version: null,
    migration_guid: null,
    has_manifest: false,
    entries: 0,
    bytes: 0,
    repositories: [],
    records: {},
    attachments: { files: 0, bytes: 0 },
    lfs: { objects: 0, bytes: 0 },
    skipped: [],
    warnings: [],
  }
  const tally = new RepositoryTally()
  const warnings = new LimitedLines(({ text }) => summary.warnings.push(text))
  let damage: ArchiveDamaged | undefined
  try {
    for await (const entry of safeEntries(archive, NOT_UNPACKED, signal))
      await add(summary, { tally, warnings }, entry)
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error
    damage = error
  }
  warnings.end()
  summary.repositories = tally.repositories()
  for (const { lfs_objects, lfs_bytes } of summary.repositories) {
    summary.lfs.objects += lfs_objects
    summary.lfs.bytes += lfs_bytes
  }
  return { summary, damage }
}

interface Counting {
  tally: RepositoryTally
  warnings: LimitedLines
}

async function add(
  summary: ArchiveSummary,
  { tally, warnings }: Counting,
  entry: ArchiveEntry,
): Promise<void> {
  const { path, kind, size } = entry
  summary.entries += 1
  summary.bytes += size
  if (kind === 'directory') return
  if (isStoredFile(path)) {
    summary.attachments.files += 1
    summary.attachments.bytes += size
  } else if (path.startsWith('repositories/')) {
    await tally.add(entry)
  } else if (!path.includes('/')) {
    await addMetadata(summary, warnings, entry)
  }
}

async function addMetadata(
  summary: ArchiveSummary,
  warnings: LimitedLines,
  entry: ArchiveEntry,
): Promise<void> {
  const { path } = entry
  const kind = kindOfFile(path)
  if (path !== 'schema.json' && path !== MANIFEST_PATH && kind === undefined) return
  const text = await textOf(entry)
  try {
    if (path === 'schema.json') addSchema(summary, parseJson(text), entry.modifiedAt)
    else if (path === MANIFEST_PATH) addManifest(summary, text)
    else if (kind !== undefined) {
      const warn = (why: string) => warnings.add(kind, `${path}: ${why}`)
      const { count } = readRecordFile(kind, text, warn)
      const before = Object.hasOwn(summary.records, kind) ? summary.records[kind]! : 0
      summary.records[kind] = before + count
    }
  } catch (error) {
    warnings.add('files', `${path}: ${(error as Error).message}`)
  }
}

function addSchema(summary: ArchiveSummary, schema: unknown, modifiedAt: number): void {
  const { version, github_sha } = (schema ?? {}) as { version?: unknown; github_sha?: unknown }
  if (typeof version === 'string') summary.schema_version = version
  if (summary.has_manifest) return
  summary.made_at = new Date(modifiedAt).toISOString()
  if (typeof github_sha === 'string') summary.made_by = `GitHub (${github_sha})`
}

function addManifest(summary: ArchiveSummary, text: string): void {
  const { generator, created_at, migration_guid, skipped } = parseManifest(text)
  summary.has_manifest = true
  summary.made_by = generator
  summary.made_at = created_at
  summary.migration_guid = migration_guid
  summary.skipped = skipped
}
