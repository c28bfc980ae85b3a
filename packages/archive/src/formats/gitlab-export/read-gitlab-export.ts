import { existsSync } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { branchRef, type GitRepository } from '@godwit/git/commits-and-refs'
import { LONG_TIMEOUT_MS } from '@godwit/git/git'
import { GitFailed } from '@godwit/git/git-process'
import { decodeUtf8 } from '@godwit/git/refs'
import { Unreadable } from '@godwit/git/unreadable'
import { ifExists } from '@godwit/lib/errno'
import { isName } from '@godwit/lib/names'
import { sortedRows } from '@godwit/lib/sorted-rows'
import { UsageError } from '@godwit/lib/user-error'
import type { RecordKind, RecordsByKind } from '../../records/record-kinds.ts'
import type { Repository } from '../../records/repository.ts'
import { ArchiveRefused } from '../../tar/unreadable-archive.ts'
import { checkRepositories, type ReaderOptions } from '../check-repositories.ts'
import type { FormatReader, Report, RepositoryContent } from '../format.ts'
import { uuidFrom } from '../output.ts'
import type { MappedPerson } from '../people.ts'
import type { Unpacked } from '../unpack-archive.ts'
import type { UploadedFile } from './project-records.ts'
import { People } from './read-people.ts'
import { sortProject } from './read-records.ts'
import { type Json, openRelations, text } from './read-relations.ts'
import { type ProjectNames, rewriteFromGitLab } from './rewrite-text.ts'

export interface GitLabOptions extends ReaderOptions {
  /** The path that the user gave. Most exports have no other name for their project. */
  name: string
  /** The owner of the repository. Exports do not name one. */
  owner: string
  /** The accounts by username, id or e-mail address. Gets the username of everyone that is mapped otherwise, because records use it. */
  people: Map<string, MappedPerson>
  /** The projects of all exports that are converted together, by name in lower case. Texts refer to them. */
  projects: Map<string, ProjectNames>
  resources: DisposableStack
}

const GROUPS = 'tree/groups'

export const groupRefused = () =>
  new ArchiveRefused(
    'it is the export of a GitLab group, which has no repositories: export the projects instead',
  )

export const isOfGroup = (path: string): boolean => path.startsWith(`${GROUPS}/`)

/**
 * Returns whether an unpacked archive is a project export of GitLab: lines of JSON in `tree`, or the one file of old versions. Throws
 * ArchiveRefused if it is the export of a group.
 */
export function isGitLabExport(root: string): boolean {
  const has = (path: string) => existsSync(join(root, path))
  if (has(GROUPS)) throw groupRefused()
  return has('tree/project.json') || (has('project.json') && !has('schema.json'))
}

/** Reads an unpacked project export of GitLab. Throws ArchiveRefused, and UsageError without an owner. */
export async function readGitLabExport(
  { root }: Unpacked,
  exportOptions: GitLabOptions,
): Promise<FormatReader> {
  const { report, scratch, resources, projects, signal } = exportOptions
  if (exportOptions.owner === '')
    throw new UsageError('a project export of GitLab does not name its owner: use --owner LOGIN')
  const relations = await openRelations(root, report)
  const fullName = `${exportOptions.owner}/${projectName(relations.project, exportOptions.name)}`
  const summary = { madeBy: await programOf(root), madeAt: null, losses: [] }
  // An export does not say which server it is from.
  const isExport = { isGitLabExport: true } as const
  const reader = { summary, ...isExport, fullNames: [fullName], urlOf: () => '' }
  if (exportOptions.wanted.size > 0 && !exportOptions.wanted.has(fullName.toLowerCase())) {
    const findFile = async (path: string) => ({ missing: `${path} is not wanted` })
    return { ...reader, fullNames: [], async *repositories() {}, async *records() {}, findFile }
  }
  const rows = resources.use(sortedRows(join(scratch, `${basename(root)}-rows`)))
  const uploads = await listUploads(root, report)
  const uploadPaths = new Map(Array.from(uploads.values(), ({ file, path }) => [file, path]))
  const people = new People(exportOptions.people)
  const options = { fullName, relations, rows, people, report, uploads, signal }
  const { repository, names } = await sortProject(options)
  for (const name of ['avatar', 'project.design.bundle'])
    if (existsSync(join(root, name))) report.addLoss(name.replaceAll('.', '_'), 1, name)
  // Texts refer to the path of a project, which is in the name of its file: `group_sub_tool` is also found as `sub_tool` and `tool`.
  for (const known of [repository.name, nameOfFile(exportOptions.name)]) {
    const words = known.toLowerCase().split('_')
    for (const [n] of words.entries()) {
      const name = words.slice(n).join('_')
      const isNamedAsBefore = n === 0 && known === repository.name
      if (isNamedAsBefore || !projects.has(name)) projects.set(name, names)
    }
  }
  const into = join(scratch, `${basename(root)}-git`)
  const built = await buildRepositories(exportOptions, { root, into, repository, names })

  async function* records<K extends RecordKind>(kind: K): AsyncGenerator<RecordsByKind[K]> {
    if (kind === 'repositories') yield built.repository as RecordsByKind[K]
    const rewrite = (value: unknown) =>
      typeof value === 'string' ? rewriteFromGitLab(value, names, projects) : value
    for (const [, record] of rows.all<RecordsByKind[K]>(kind)) {
      const key = kind === 'milestones' ? 'description' : 'body'
      yield key in record ? { ...record, [key]: rewrite((record as unknown as Json)[key]) } : record
    }
  }

  return {
    ...reader,
    async *repositories(): AsyncGenerator<RepositoryContent> {
      const unpacked = { root: into, checksums: new Map(), damage: undefined }
      if (built.error) yield { fullName, errors: [built.error] }
      else yield* checkRepositories(unpacked, undefined, exportOptions)
    },
    records,
    async findFile(path) {
      const upload = uploadPaths.get(path)
      if (upload === undefined) return { missing: `${path} is not in the export` }
      return { file: join(root, upload), bytes: (await lstat(join(root, upload))).size }
    },
    *renumbered() {
      if (names.offset === 0) return
      for (const iid of names.mergeRequests)
        yield { repository: fullName, old: `!${iid}`, new: `#${names.offset + iid}` }
    },
  }
}

/** Only the newest exports have the name. Otherwise it is that of the file: `2024-05-01_12-00-123_GROUP_PROJECT_export.tar.gz`. */
export function projectName(project: Json, path: string): string {
  const names = [text(project.path), text(project.name), nameOfFile(path)].map((each) =>
    each.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|[-.]+$|\.git$/g, ''),
  )
  return names.find(isName) ?? 'project'
}

const nameOfFile = (path: string): string =>
  basename(path)
    .replace(/\.(?:tar\.gz|tgz|tar)$/i, '')
    .replace(/_export$/, '')
    .replace(/^\d{4}-\d\d-\d\d_\d\d-\d\d-\d+_/, '')

/** Returns the version of GitLab, or of the export format in old exports. */
async function programOf(root: string): Promise<string> {
  const read = async (name: string) =>
    (await ifExists(readFile(join(root, name), 'utf8'), 'ENOENT'))?.trim().slice(0, 100)
  const version = await read('GITLAB_VERSION')
  return version
    ? `GitLab ${version}`
    : `GitLab (export format ${(await read('VERSION')) ?? 'unknown'})`
}

/** Lists the uploaded files by the path that texts link to: `uploads/SECRET/NAME`. As in GitLab, more folders may contain the last one. */
async function listUploads(root: string, report: Report): Promise<Map<string, UploadedFile>> {
  const uploads = new Map<string, UploadedFile>()
  const uuids = new Set<string>()
  const options = { recursive: true, withFileTypes: true } as const
  const entries = (await ifExists(readdir(join(root, 'uploads'), options), 'ENOENT')) ?? []
  const files = entries.filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  for (const path of paths.sort()) {
    const [, secret, name] = /\/([0-9a-f]{32}|[0-9a-f]{10})\/([^/]+)$/.exec(path) ?? []
    const link = `uploads/${secret}/${name}`
    if (secret === undefined || uploads.has(link)) {
      report.addLoss('attachments', 1, path)
      continue
    }
    const own = secret.padEnd(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const uuid = uuids.has(own) ? uuidFrom(link) : own
    uuids.add(uuid)
    uploads.set(link, { path, uuid, name: name!, file: `attachments/${uuid}/${name}` })
  }
  return uploads
}

/**
 * Makes bare repositories of the bundles of a project and its wiki, in the layout of a git host below `into`. Merge requests become
 * pull requests; refs of GitLab itself are reported as lost. An error of git is returned, because it concerns this project only.
 */
async function buildRepositories(
  { git, report, signal }: GitLabOptions,
  project: { root: string; into: string; repository: Repository; names: ProjectNames },
): Promise<{ repository: Repository; error?: string }> {
  const { root, into, repository, names } = project
  const { fullName } = names
  const dir = join(into, 'repositories', `${fullName}.git`)
  const wikiDir = join(into, 'repositories', `${fullName}.wiki.git`)
  await mkdir(join(dir, '..'), { recursive: true })
  try {
    const bundled = await unbundle({ git, dir, signal }, join(root, 'project.bundle'))
    const refs = bundled.flatMap(({ name, oid }) => {
      const [, iid, kind] = /^refs\/merge-requests\/([1-9]\d*)\/(head|merge)$/.exec(name) ?? []
      if (iid !== undefined && names.mergeRequests.has(Number(iid)))
        return [{ name: `refs/pull/${names.offset + Number(iid)}/${kind}`, oid }]
      if (name.startsWith('refs/') && !GITLAB_REFS.test(name)) return [{ name, oid }]
      if (name !== 'HEAD')
        report.addLoss(`${name.split('/')[1]}_refs`.replaceAll('-', '_'), 1, name)
      return []
    })
    const head = defaultBranchOf(bundled, repository.defaultBranch)
    await createRefs({ git, dir, signal }, refs, head)
    await moveLfsObjects(root, dir)
    const hasWiki = existsSync(join(root, 'project.wiki.bundle'))
    if (hasWiki) {
      const wiki = { git, dir: wikiDir, signal }
      const wikiRefs = await unbundle(wiki, join(root, 'project.wiki.bundle'))
      const branches = wikiRefs.filter(({ name }) => name.startsWith('refs/heads/'))
      await createRefs(wiki, branches, defaultBranchOf(wikiRefs, null))
    }
    const branch = head && decodeUtf8(head.slice('refs/heads/'.length))
    const wiki = hasWiki ? `repositories/${fullName}.wiki.git` : undefined
    return { repository: { ...repository, defaultBranch: branch ?? null, wiki } }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof GitFailed) && !(error instanceof Unreadable)) throw error
    return { repository, error: error.message }
  }
}

/** Moves LFS objects into the repository. Their names are their SHA-256, which is verified with the repository. */
async function moveLfsObjects(root: string, dir: string): Promise<void> {
  const from = join(root, 'lfs-objects')
  for (const oid of (await ifExists(readdir(from), 'ENOENT')) ?? []) {
    if (!/^[0-9a-f]{64}$/.test(oid)) continue
    const folder = join(dir, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4))
    await mkdir(folder, { recursive: true })
    await rename(join(from, oid), join(folder, oid))
  }
}

/** Refs that GitLab makes for itself, and those of pull requests, which are made of merge requests. */
const GITLAB_REFS =
  /^refs\/(?:merge-requests|keep-around|pipelines|environments|workloads|remotes|tmp|pull)\//

interface BundledRef {
  /** A byte string (latin1), as in git. */
  name: string
  oid: string
}

/**
 * Makes a bare repository of the objects of a git bundle, version 2 or 3, and returns the refs of the bundle, which are not created
 * yet. If the bundle does not exist, the repository is empty. Rejects with Unreadable or GitFailed. The objects are not verified.
 */
async function unbundle({ git, dir, signal }: GitRepository, bundle: string) {
  const format = await objectFormatOf(bundle)
  const init = ['init', '--quiet', '--bare', '--template=', `--object-format=${format ?? 'sha1'}`]
  await git.run([...init, dir], { signal })
  if (format === undefined) return []
  const call = { dir, signal, timeoutMs: LONG_TIMEOUT_MS, config: { 'core.bare': 'true' } }
  const output = (await git.run(['bundle', 'unbundle', bundle], call)).toString('latin1')
  return output.split('\n').flatMap((line) => {
    const [, oid, name] = /^([0-9a-f]{40,64}) (.+)$/.exec(line) ?? []
    return oid !== undefined && name !== undefined ? [{ oid, name }] : []
  })
}

const MAX_HEADER_BYTES = 4096

/** Reads the header of a bundle. Returns undefined if the file does not exist. */
async function objectFormatOf(bundle: string): Promise<string | undefined> {
  const opened = await ifExists(open(bundle), 'ENOENT')
  if (!opened) return undefined
  await using file = opened
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_HEADER_BYTES) })
  const [signature, ...lines] = buffer.toString('latin1', 0, bytesRead).split('\n')
  const [, version] = /^# v([23]) git bundle$/.exec(signature ?? '') ?? []
  if (version === undefined)
    throw new Unreadable('its bundle is not a git bundle of version 2 or 3')
  const capabilities = version === '3' ? lines.filter((line) => line.startsWith('@')) : []
  const format = capabilities.find((each) => each.startsWith('@object-format='))?.split('=')[1]
  const unknown = capabilities.find((each) => !/^@object-format=sha(?:1|256)$/.test(each))
  if (unknown !== undefined)
    throw new Unreadable(
      `its bundle has the capability ${unknown.slice(1, 50)}, which is not supported`,
    )
  return format ?? 'sha1'
}

/** Creates refs, and points HEAD to the ref `head`. */
async function createRefs(
  { git, dir, signal }: GitRepository,
  refs: readonly BundledRef[],
  head: string | undefined,
): Promise<void> {
  const lines = refs.map(({ name, oid }) => `create ${name}\0${oid}\0`)
  const input = Buffer.from(lines.join(''), 'latin1')
  await git.run(['update-ref', '--stdin', '-z'], { dir, signal, input })
  // An argument of git would be encoded as UTF-8, which a byte string is not.
  if (head !== undefined) await writeFile(join(dir, 'HEAD'), `ref: ${head}\n`, 'latin1')
}

/**
 * Returns the ref of the default branch: the wanted one if it exists, else a branch at the commit of HEAD, if possible main or master,
 * else any branch. HEAD of a bundle names only a commit.
 */
export function defaultBranchOf(refs: readonly BundledRef[], wanted: string | null) {
  const branches = refs.filter(({ name }) => name.startsWith('refs/heads/'))
  const head = refs.find(({ name }) => name === 'HEAD')?.oid
  const atHead = branches.filter(({ oid }) => oid === head).map(({ name }) => name)
  const wantedRef = branchRef(wanted ?? '')
  if (branches.some(({ name }) => name === wantedRef)) return wantedRef
  const usual = ['main', 'master'].map(branchRef)
  return usual.find((name) => atHead.includes(name)) ?? atHead[0] ?? branches[0]?.name
}
