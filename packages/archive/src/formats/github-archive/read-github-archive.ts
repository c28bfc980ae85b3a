import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists } from '@godwit/lib/errno'
import { digestOf } from '@godwit/lib/file-digest'
import { parseJson, type Shape } from '@godwit/lib/json-shape'
import { isRecordKind, readList, readRecord } from '../../records/read-records.ts'
import type { RecordKind, RecordsByKind } from '../../records/record-kinds.ts'
import { type Repository, UNKNOWN_REPOSITORY } from '../../records/repository.ts'
import {
  isUploadedFile,
  MANIFEST_PATH,
  type Manifest,
  type ManifestLoss,
} from '../../tar/manifest.ts'
import { unsafePath } from '../../tar/tar-header.ts'
import { ArchiveRefused } from '../../tar/unreadable-archive.ts'
import {
  checkRepositories,
  describeSkipped,
  type ReaderOptions,
  readManifest,
} from '../check-repositories.ts'
import { CHANGED, NOT_IN_MANIFEST, refuseEdited, uploadDigests } from '../compare-manifest.ts'
import type { FormatReader, FoundFile, Report } from '../format.ts'
import { readdirIfExists } from '../output.ts'
import { listRecordFiles, type Unpacked } from '../unpack-archive.ts'

/** Clients such as `gh gei` ask for two archives of a repository: one of its git data, and one of its records. */
const NO_GIT_DATA = `it holds no git data: unpack it over the archive that has it, delete ${MANIFEST_PATH} there, and name that directory instead`

/** Reads an unpacked archive of GitHub, of Godwit, or of another program that writes this format. Throws ArchiveRefused. */
export async function readGitHubArchive(
  unpacked: Unpacked,
  options: ReaderOptions,
): Promise<FormatReader> {
  const { root } = unpacked
  const { report, wanted } = options
  const manifest = await readManifest(root)
  if (manifest) await refuseEdited(root, manifest)
  if (manifest && wanted.size === 0)
    for (const each of describeSkipped(manifest)) report.warn('skipped repositories', each)
  const isWanted = (fullName: string) => wanted.size === 0 || wanted.has(fullName.toLowerCase())
  const all = await repositoriesIn(root)
  if (all.length === 0 && (await listRecordFiles(root)).some(({ kind }) => kind === 'repositories'))
    throw new ArchiveRefused(NO_GIT_DATA)
  const fullNames = all.filter(isWanted)
  const archive = await openRecords(root, { ...options, isWanted })
  const repositories = await archive.repositories(fullNames)
  await archive.reportUnread()
  const digests = manifest && uploadDigests(manifest)
  return {
    summary: await summaryOf(root, manifest, report),
    fullNames,
    urlOf: (fullName) => repositories.get(fullName.toLowerCase())?.url ?? '',
    repositories: () => checkRepositories(unpacked, manifest, { ...options, isWanted }),
    records: (kind) =>
      kind === 'repositories'
        ? (recordsOf(repositories) as AsyncIterable<never>)
        : archive.records(kind),
    findFile: (path) => findFile(root, path, { digests, signal: options.signal }),
  }
}

/** Returns the repositories of an unpacked archive that have git data. A wiki is part of its repository. */
async function repositoriesIn(root: string): Promise<string[]> {
  const folders = new Set<string>()
  const top = join(root, 'repositories')
  for (const owner of await readdirIfExists(top))
    if (owner.isDirectory())
      for (const name of await readdir(join(top, owner.name)))
        if (name.endsWith('.git')) folders.add(`${owner.name}/${name.slice(0, -'.git'.length)}`)
  const isWiki = (name: string) =>
    name.endsWith('.wiki') && folders.has(name.slice(0, -'.wiki'.length))
  return [...folders].filter((name) => !isWiki(name)).sort()
}

/** Returns everything that the manifest calls lost, with the repositories and LFS objects that have fields of their own there. */
const lossesIn = ({ losses = [], skipped, repositories }: Manifest): ManifestLoss[] => [
  ...losses,
  ...skipped.map(({ full_name, reason }) => oneLoss(full_name, 'repositories', reason)),
  ...repositories.flatMap(({ full_name, lfs_missing = [] }) =>
    lfs_missing.map(({ oid }) => oneLoss(full_name, 'LFS_objects', oid)),
  ),
]

const oneLoss = (full_name: string, kind: string, example: string): ManifestLoss => ({
  full_name,
  kind,
  count: 1,
  examples: [example],
})

async function summaryOf(root: string, manifest: Manifest | undefined, report: Report) {
  if (manifest)
    return { madeBy: manifest.generator, madeAt: manifest.created_at, losses: lossesIn(manifest) }
  let madeBy = 'unknown'
  try {
    const schema = await ifExists(readFile(join(root, 'schema.json'), 'utf8'), 'ENOENT')
    const { github_sha } = Object(parseJson(schema ?? '{}')) as { github_sha?: unknown }
    if (typeof github_sha === 'string') madeBy = `GitHub (${github_sha})`
  } catch (error) {
    report.warn('files', `schema.json: ${(error as Error).message}`)
  }
  return { madeBy, madeAt: null, losses: [] }
}

type KnownRepositories = Map<string, { record: Repository; url: string }>

async function* recordsOf(repositories: KnownRepositories): AsyncGenerator<Repository> {
  for (const { record } of repositories.values()) yield record
}

type RecordOptions = Pick<ReaderOptions, 'report' | 'signal'> & {
  isWanted(fullName: string): boolean
}

async function openRecords(root: string, { report, signal, isWanted }: RecordOptions) {
  const files = await listRecordFiles(root)
  /** The full name of the git data by the full name in the records, in lower case. They may differ. */
  const names = new Map<string, string>()
  const unreadable = new Set<string>()

  /** Yields the valid records of a kind, each with a function that reports it as lost. A file that cannot be read counts as empty. */
  async function* read<T>(kind: string, shape: Shape<T>) {
    for (const { file } of files.filter((each) => each.kind === kind)) {
      signal.throwIfAborted()
      const lose = (why: string) => report.addSkippedRecord(kind, `${file}: ${why}`)
      try {
        const { valid } = readList(await readFile(join(root, file), 'utf8'), shape, lose)
        for (const { index, value } of valid)
          yield { value, lose: (why: string) => lose(`[${index}]${why}`) }
      } catch (error) {
        // Some files are read twice.
        if (unreadable.has(file)) continue
        unreadable.add(file)
        report.warn('files', `${file}: ${(error as Error).message}; nothing of it is used`)
        report.addLoss('unreadable_files', 1, file)
      }
    }
  }

  return {
    /**
     * Reads the records of the repositories that have git data, by full name in lower case. A repository without a record that can be
     * read is private.
     */
    async repositories(fullNames: readonly string[]): Promise<KnownRepositories> {
      const found: KnownRepositories = new Map()
      const spelling = new Map(fullNames.map((name) => [name.toLowerCase(), name]))
      for await (const { value, lose } of read('repositories', readRepository)) {
        const { record, url } = value
        const key = record.git.replace(/^repositories\/|\.git$/g, '').toLowerCase()
        const fullName = `${record.owner}/${record.name}`
        const name = spelling.get(key)
        if (name !== undefined) {
          for (const [kind, count] of value.unread) report.addLoss(kind, count, fullName)
          found.set(key, { record: withFullName(record, name), url })
          names.set(fullName.toLowerCase(), name)
        } else if (isWanted(fullName)) lose(`: ${record.git} of ${fullName} is not in the archive`)
      }
      for (const [key, name] of spelling) {
        if (found.has(key)) continue
        const why = 'has no record that can be read: it is treated as private'
        report.warn('repositories', `${name} ${why}`)
        found.set(key, { record: withFullName(UNKNOWN_REPOSITORY, name), url: '' })
      }
      return found
    },

    async reportUnread(): Promise<void> {
      for (const kind of new Set(files.map((each) => each.kind)))
        if (!isRecordKind(kind))
          for await (const _ of read(kind, (value) => value)) report.addLoss(kind)
      for await (const { value } of read('organizations', unreadLists))
        for (const [kind, count] of value) report.addLoss(kind, count)
    },

    async *records<K extends RecordKind>(kind: K): AsyncGenerator<RecordsByKind[K]> {
      for await (const { value } of read(kind, (githubRecord, at) =>
        readRecord(kind, githubRecord, at),
      )) {
        if (!('repository' in value)) yield value
        else {
          const repository = names.get(value.repository.toLowerCase())
          if (repository !== undefined) yield { ...value, repository }
          else if (isWanted(value.repository)) report.addLoss(kind)
        }
      }
    },
  }
}

const REPOSITORY_URL = /^https?:\/\/[^\s?#@\p{Cc}]+[^\s?#@/]$/u

/** Reads a repository, and its URL, or '' if the record has no valid one. */
function readRepository(githubRecord: unknown, at: string) {
  const record = readRecord('repositories', githubRecord, at)
  const { url } = githubRecord as { url?: unknown }
  return {
    record,
    url: typeof url === 'string' && REPOSITORY_URL.test(url) && URL.canParse(url) ? url : '',
    unread: unreadLists(githubRecord),
  }
}

/** Returns how many webhooks and deploy keys a repository or organization has. No format keeps them: they need secrets or new keys. */
function unreadLists(githubRecord: unknown): [kind: string, count: number][] {
  const { webhooks, public_keys: keys } = Object(githubRecord) as Record<string, unknown>
  return Object.entries({ webhooks, deploy_keys: keys }).flatMap(([kind, list]) =>
    Array.isArray(list) && list.length > 0 ? [[kind, list.length]] : [],
  )
}

function withFullName(record: Repository, fullName: string): Repository {
  const [owner = '', name = ''] = fullName.split('/')
  return { ...record, owner, name }
}

/** Finds the unpacked file that a record names. The record is untrusted. */
async function findFile(
  root: string,
  path: string,
  { digests, signal }: { digests: Map<string, string> | undefined; signal: AbortSignal },
): Promise<FoundFile | { missing: string }> {
  const missing = { missing: `${path} is not in the archive` }
  if (unsafePath(path) || !isUploadedFile(path)) return missing
  const file = join(root, path)
  const stats = await lstat(file).catch(() => undefined)
  if (!stats?.isFile()) return missing
  if (digests) {
    const sha256 = digests.get(path)
    if (sha256 === undefined) return { missing: `${path} ${NOT_IN_MANIFEST}` }
    if ((await digestOf(file, {}, signal)) !== sha256) return { missing: `${path} ${CHANGED}` }
  }
  return { file, bytes: stats.size }
}
