import { decodeUtf8 } from '@godwit/git/refs'
import type { Bytes } from '@godwit/lib/bytes'
import { LimitedLines } from '@godwit/lib/findings'
import { anyObject, type JsonObject, parseJson } from '@godwit/lib/json-shape'
import { MAX_JSON_BYTES } from './formats/gitlab-export/constants.ts'
import {
  defaultBranchOf,
  groupRefused,
  isOfGroup,
  projectName,
} from './formats/gitlab-export/read-gitlab-export.ts'
import { NOT_UNPACKED, validateEntries } from './formats/unpack-archive.ts'
import { kindOfFile, readRecordFile } from './records/read-records.ts'
import { isUploadedFile, MANIFEST_PATH, type ManifestLoss, parseManifest } from './tar/manifest.ts'
import { type ArchiveEntry, textOf } from './tar/read-entries.ts'
import type { Folder } from './tar/read-folder.ts'
import { ArchiveDamaged, ArchiveNotSupported } from './tar/unreadable-archive.ts'

/** The keys are those of `godwit show --json`. */
const emptySummary = () => ({
  made_by: 'unknown',
  /** When the archive was written. For an archive of another program, the time of `schema.json`. */
  made_at: null as string | null,
  schema_version: null as string | null,
  migration_guid: null as string | null,
  has_manifest: false,
  entries: 0,
  /** The size of all files when unpacked. */
  bytes: 0,
  repositories: [] as RepositorySummary[],
  /** How many records there are of each kind. */
  records: {} as Record<string, number>,
  attachments: { files: 0, bytes: 0 },
  lfs: { objects: 0, bytes: 0 },
  skipped: [] as { full_name: string; reason: string }[],
  /** What could not be read when the archive was made, or not be represented in its format. */
  losses: [] as ManifestLoss[],
  warnings: [] as string[],
})

export type ArchiveSummary = ReturnType<typeof emptySummary>

/**
 * Summarizes an archive in one pass over its bytes, without writing anything and without git. The archive is not verified, but
 * `damage` is set if it turns out to be damaged. `name` is the path that the user gave: exports of old versions of GitLab have no other
 * name. Throws ArchiveNotSupported and ArchiveRefused.
 */
export async function summarizeArchive(
  archive: Bytes | Folder,
  signal: AbortSignal,
  name = 'project',
) {
  const summary = emptySummary()
  const counter = new RepositoryCounter()
  const warnings = new LimitedLines(({ text }) => summary.warnings.push(text))
  let damage: ArchiveDamaged | undefined
  try {
    for await (const entry of validateEntries(archive, NOT_UNPACKED, signal))
      await addEntry(summary, { counter, warnings }, entry)
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error
    damage = error
  }
  warnings.end()
  const [project] = summary.repositories
  if (project) project.full_name = projectName(counter.project, name)
  summary.repositories.push(...counter.summaries())
  const { repositories, records, made_at } = summary
  if (!damage && repositories.length + Object.keys(records).length === 0 && made_at === null)
    throw notAnArchive()
  for (const { lfs_objects, lfs_bytes } of summary.repositories) {
    summary.lfs.objects += lfs_objects
    summary.lfs.bytes += lfs_bytes
  }
  return { summary, damage }
}

async function addEntry(
  summary: ArchiveSummary,
  { counter, warnings }: { counter: RepositoryCounter; warnings: LimitedLines },
  entry: ArchiveEntry,
): Promise<void> {
  const { path, kind, size } = entry
  summary.entries += 1
  summary.bytes += size
  if (kind === 'directory') return
  if (isOfGroup(path)) throw groupRefused()
  if (isUploadedFile(path)) return addAttachment(summary, size)
  if (path.startsWith('repositories/')) return counter.add(entry)
  try {
    if (!(await addExportFile(summary, counter, entry))) await addMetadata(summary, warnings, entry)
  } catch (error) {
    if (error instanceof ArchiveDamaged) throw error
    warnings.add('files', `${path}: ${(error as Error).message}`)
  }
}

function addAttachment({ attachments }: ArchiveSummary, size: number): void {
  attachments.files += 1
  attachments.bytes += size
}

async function addMetadata(summary: ArchiveSummary, warnings: LimitedLines, entry: ArchiveEntry) {
  const { path } = entry
  const kind = kindOfFile(path)
  if (path !== 'schema.json' && path !== MANIFEST_PATH && kind === undefined) return
  const text = await textOf(entry)
  if (path === 'schema.json') addSchema(summary, parseJson(text), entry.modifiedAt)
  else if (path === MANIFEST_PATH) addManifest(summary, text)
  else if (kind !== undefined) {
    const warn = (why: string) => warnings.add(kind, `${path}: ${why}`)
    const { count } = readRecordFile(kind, text, warn)
    const before = Object.hasOwn(summary.records, kind) ? summary.records[kind]! : 0
    summary.records[kind] = before + count
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
  const { generator, created_at, migration_guid, skipped, losses = [] } = parseManifest(text)
  const made = { has_manifest: true, made_by: generator, made_at: created_at }
  Object.assign(summary, {
    ...made,
    migration_guid,
    skipped,
    losses,
  } satisfies Partial<ArchiveSummary>)
}

/** The keys are those of `godwit show --json`. */
const emptyRepository = (full_name: string) => ({
  full_name,
  /** The size of its git objects and LFS objects, including those of its wiki, as in the progress of a migration. */
  bytes: 0,
  /** The branch that HEAD names, or an object id; null if there is no HEAD. */
  default_branch: null as string | null,
  branches: 0,
  tags: 0,
  other_refs: 0,
  has_wiki: false,
  lfs_objects: 0,
  lfs_bytes: 0,
})

type RepositorySummary = ReturnType<typeof emptyRepository>

const IN_REPOSITORY = /^repositories\/([^/]+\/[^/]+)\.git\/(.+)$/s
const OBJECT = /^(?:objects|lfs\/objects)\//
/** A ref name may contain other kinds of whitespace, such as U+3000. */
const HEAD = /^(?:ref:[ \t]*(?:refs\/heads\/)?)?([^ \t\r\n]*)/
const PACKED_REF = /^[0-9a-f]{40,64} (refs\/.+)$/gm

export const notAnArchive = () =>
  new ArchiveNotSupported('it is neither a migration archive nor a project export of GitLab')

/** Counts the contents of repositories from the entries of an archive, in any order. */
class RepositoryCounter {
  /** The record of the project of an export of GitLab. */
  project: JsonObject = {}
  readonly #found = new Map<string, { summary: RepositorySummary; refs: Set<string> }>()

  async add(entry: ArchiveEntry): Promise<void> {
    const [, fullName, path] = IN_REPOSITORY.exec(entry.path) ?? []
    if (fullName === undefined || path === undefined) return
    const empty = () => ({ summary: emptyRepository(fullName), refs: new Set<string>() })
    const { summary, refs } = this.#found.getOrInsertComputed(fullName, empty)
    if (OBJECT.test(path)) summary.bytes += entry.size
    if (path.startsWith('refs/')) refs.add(path)
    else if (path.startsWith('lfs/objects/')) {
      summary.lfs_objects += 1
      summary.lfs_bytes += entry.size
    } else if (path === 'HEAD') {
      summary.default_branch = HEAD.exec(await textOf(entry))![1]!
    } else if (path === 'packed-refs') {
      for (const [, name] of (await textOf(entry)).matchAll(PACKED_REF)) refs.add(name!)
    }
  }

  /** Returns the repositories sorted by name. A wiki is part of its repository, if the archive contains that. */
  summaries(): RepositorySummary[] {
    return [...this.#found.keys()].sort().flatMap((name) => {
      if (name.endsWith('.wiki') && this.#found.has(name.slice(0, -'.wiki'.length))) return []
      const { summary, refs } = this.#found.get(name)!
      const wiki = this.#found.get(`${name}.wiki`)?.summary
      const bytes = summary.bytes + (wiki?.bytes ?? 0)
      return { ...summary, ...countRefs([...refs]), bytes, has_wiki: wiki !== undefined }
    })
  }
}

function countRefs(names: readonly string[]) {
  const below = (start: string) => names.filter((name) => name.startsWith(start)).length
  const [branches, tags] = [below('refs/heads/'), below('refs/tags/')]
  return { branches, tags, other_refs: below('refs/') - branches - tags }
}

const RELATION = /^tree\/project\/(\w+)\.ndjson$/

/** Adds a file of a GitLab project export to a summary. Returns false if such exports have no such file. */
async function addExportFile(
  summary: ArchiveSummary,
  counter: RepositoryCounter,
  entry: ArchiveEntry,
): Promise<boolean> {
  const { path, size } = entry
  const [, relation] = RELATION.exec(path) ?? []
  if (path === 'VERSION' || path === 'GITLAB_VERSION') {
    const version = (await textOf(entry)).trim().slice(0, 100)
    if (path === 'VERSION') summary.schema_version = version
    else summary.made_by = `GitLab ${version}`
    if (summary.made_by === 'unknown') summary.made_by = 'GitLab'
  } else if (relation !== undefined) summary.records[relation] = await countLines(entry)
  else if (/^(?:tree\/)?project\.json$/.test(path) && size <= MAX_JSON_BYTES) {
    projectOf(summary)
    counter.project = anyObject(parseJson(await textOf(entry)), '')
    const relations = path === 'project.json' ? Object.entries(counter.project) : []
    for (const [name, value] of relations)
      if (Array.isArray(value) && value.length > 0) summary.records[name] = value.length
  } else if (path === 'project.bundle') {
    Object.assign(projectOf(summary), await summarizeBundle(entry))
  } else if (path === 'project.wiki.bundle') projectOf(summary).has_wiki = true
  else if (path.startsWith('uploads/')) addAttachment(summary, size)
  else if (path.startsWith('lfs-objects/')) {
    summary.lfs.objects += 1
    summary.lfs.bytes += size
  } else return false
  return true
}

/** Returns the summary of the only repository of a project export, which gets its name at the end. */
function projectOf({ repositories }: ArchiveSummary): RepositorySummary {
  if (repositories.length === 0) repositories.push(emptyRepository('project'))
  return repositories[0]!
}

async function countLines({ content }: ArchiveEntry): Promise<number> {
  let [count, hasText] = [0, false]
  for await (const chunk of content)
    for (const byte of chunk) {
      if (byte !== 0x0a) hasText = true
      else if (hasText) {
        count += 1
        hasText = false
      }
    }
  return hasText ? count + 1 : count
}

const MAX_HEADER_BYTES = 16 * 1024 * 1024

/** Reads the refs of a git bundle, which are lines of text before its pack. */
async function summarizeBundle({ content, size }: ArchiveEntry) {
  let header = ''
  for await (const chunk of content)
    if (!header.includes('\n\n') && header.length < MAX_HEADER_BYTES)
      header += Buffer.from(chunk).toString('latin1')
  const lines = header.split('\n\n', 1)[0]!.matchAll(/^([0-9a-f]{40,64}) (.+)$/gm)
  const refs = Array.from(lines, ([, oid, name]) => ({ oid: oid!, name: name! }))
  const branch = defaultBranchOf(refs, null)
  return {
    bytes: size,
    ...countRefs(refs.map(({ name }) => name)),
    default_branch: branch ? decodeUtf8(branch.slice('refs/heads/'.length)) : null,
  }
}
