import { isStoredFile, MANIFEST_PATH, parseManifest } from '../archive/manifest.ts'
import { type ArchiveEntry, textOf } from '../archive/read-entries.ts'
import type { Folder } from '../archive/read-folder.ts'
import { ArchiveDamaged } from '../archive/unreadable-archive.ts'
import type { Bytes } from '../blobs/blob-store.ts'
import { parseJson } from '../lib/json-shape.ts'
import { LimitedLines } from '../lib/limited-lines.ts'
import { kindOfFile, readRecordFile } from '../records/record-file.ts'
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

/** The keys are those of `--json`. */
export interface TalliedRepository {
  full_name: string
  /** Of all its files, its wiki included. */
  bytes: number
  /** The branch that HEAD names, or an oid; null where there is no HEAD. */
  default_branch: string | null
  branches: number
  tags: number
  other_refs: number
  has_wiki: boolean
  lfs_objects: number
  lfs_bytes: number
}

interface Seen {
  bytes: number
  head: string | null
  refs: Set<string>
  lfsObjects: number
  lfsBytes: number
}

const IN_REPOSITORY = /^repositories\/([^/]+\/[^/]+)\.git\/(.+)$/s
const PACKED_REF = /^[0-9a-f]{40,64} (refs\/.+)$/gm

/** Counts what repositories hold, entry by entry, in any order. */
export class RepositoryTally {
  readonly #seen = new Map<string, Seen>()

  async add(entry: ArchiveEntry): Promise<void> {
    const [, fullName, path] = IN_REPOSITORY.exec(entry.path) ?? []
    if (fullName === undefined || path === undefined) return
    const seen = this.#seen.get(fullName) ?? none()
    this.#seen.set(fullName, seen)
    seen.bytes += entry.size
    if (path.startsWith('refs/')) seen.refs.add(path)
    else if (path.startsWith('lfs/objects/')) {
      seen.lfsObjects += 1
      seen.lfsBytes += entry.size
    } else if (path === 'HEAD') {
      seen.head = (await textOf(entry)).trim().replace(/^ref: (?:refs\/heads\/)?/, '')
    } else if (path === 'packed-refs') {
      for (const [, name] of (await textOf(entry)).matchAll(PACKED_REF)) seen.refs.add(name!)
    }
  }

  /** In order of name; a wiki is told with its repository, where there is one. */
  repositories(): TalliedRepository[] {
    const all = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1))
    return all
      .filter(([fullName]) => !this.#seen.has(fullName.replace(/\.wiki$/, '')) || !isWiki(fullName))
      .map(([fullName, seen]) => this.#told(fullName, seen))
  }

  #told(fullName: string, { bytes, head, refs, lfsObjects, lfsBytes }: Seen): TalliedRepository {
    const wiki = this.#seen.get(`${fullName}.wiki`)
    const below = (start: string) => [...refs].filter((name) => name.startsWith(start)).length
    const [branches, tags] = [below('refs/heads/'), below('refs/tags/')]
    return {
      full_name: fullName,
      bytes: bytes + (wiki?.bytes ?? 0),
      default_branch: head,
      branches,
      tags,
      other_refs: refs.size - branches - tags,
      has_wiki: wiki !== undefined,
      lfs_objects: lfsObjects,
      lfs_bytes: lfsBytes,
    }
  }
}

const isWiki = (fullName: string): boolean => fullName.endsWith('.wiki')

const none = (): Seen => ({
  bytes: 0,
  head: null,
  refs: new Set(),
  lfsObjects: 0,
  lfsBytes: 0,
})
