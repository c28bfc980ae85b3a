import { createReadStream, existsSync } from 'node:fs'
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readOidsByRef, setHead } from '@godwit/git/commits-and-refs'
import { type Git, LONG_TIMEOUT_MS } from '@godwit/git/git'
import { decodeUtf8, resolvableSymrefs } from '@godwit/git/refs'
import type { Snapshot } from '@godwit/git/snapshot'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { type SortedRows, sortedRows } from '@godwit/lib/sorted-rows'
import type { Repository } from '../../records/repository.ts'
import { ARCHIVE_HEAD, planArchive } from '../../tar/plan-archive.ts'
import { type FileEntry, writeSegment } from '../../tar/write-segment.ts'
import {
  type Conversion,
  type FormatWriter,
  reportDetachedHead,
  writeRepositories,
} from '../format.ts'
import { moveDurably, refuseExisting, syncTree } from '../output.ts'
import type { PeopleMap } from '../people.ts'
import { RepositoryRecords, readRepositories, sortRecords } from '../sort-records.ts'
import { storableJson } from '../storable-json.ts'
import { MAX_JSON_BYTES } from './constants.ts'
import { rewriteForGitLab } from './rewrite-text.ts'
import {
  commitNotes,
  featureRecord,
  issueRecord,
  members,
  projectRecord,
  protectedBranches,
  reportOrphans,
} from './write-discussions.ts'
import { mergeRequests } from './write-merge-requests.ts'
import { Project } from './write-project.ts'
import { type ExportFile, findUploads, releases } from './write-uploads.ts'

export interface GitLabExportOptions {
  git: Git
  /** Exports are written to OWNER/NAME_export.tar.gz in this directory. */
  into: string
  /** A directory on the same file system. */
  workDirectory: string
  people: PeopleMap
  /** The URL, with a trailing slash, at which the user will publish the files of releases. If it is empty, they are lost. */
  assetBaseUrl: string
}

/** Writes every repository as a project export of GitLab, each completely or not at all. */
export function gitlabExportWriter(options: GitLabExportOptions): FormatWriter {
  return { mapsPeople: true, write: (conversion) => writeExports(options, conversion) }
}

async function* writeExports(options: GitLabExportOptions, conversion: Conversion) {
  const { into, workDirectory } = options
  const { content, report } = conversion
  const targets = content.fullNames.flatMap((name) => [`${name}_export.tar.gz`, `${name}_assets`])
  await refuseExisting(into, new Set(targets))
  using rows = sortedRows(join(workDirectory, 'rows'))
  const repositories = await readRepositories(conversion)
  await sortRecords(conversion, rows)
  const directory = join(workDirectory, 'export')
  yield* writeRepositories(conversion, async (fullName, { snapshot, missingLfs }) => {
    for (const line of await missingLfs()) report.warn('LFS objects', line)
    const repository = repositories.get(fullName.toLowerCase())!
    const exportOptions = {
      ...options,
      ...conversion,
      rows,
      fullName,
      directory,
      repository,
      snapshot,
    }
    await writeExport(exportOptions).finally(() => rm(directory, { recursive: true, force: true }))
  })
}

interface ExportOptions extends GitLabExportOptions, Conversion {
  rows: SortedRows
  fullName: string
  repository: Repository
  snapshot: Snapshot
  /** The directory of this export, which does not exist yet. */
  directory: string
}

async function writeExport(exportOptions: ExportOptions): Promise<void> {
  const { git, into, fullName, directory, content, snapshot, report, signal } = exportOptions
  await mkdir(join(directory, 'tree/project'), { recursive: true })
  const { project, uploads, linkedUrls } = await openProject(exportOptions)
  const files: ExportFile[] = [...uploads]
  const { dir } = snapshot.repository
  const refs = await readOidsByRef({ git, dir, signal })
  const assets = join(directory, 'assets')

  async function add(path: string, write: (file: string) => Promise<unknown>): Promise<void> {
    const from = join(directory, path)
    await withWriteContext(from, () => write(from))
    files.push({ path, from })
  }
  const addText = (path: string, text: string) => add(path, (file) => writeFile(file, text))
  const addLines = (relation: string, records: Records) =>
    add(`tree/project/${relation}.ndjson`, (file) =>
      writeFile(file, jsonLines(project, relation, records), { signal }),
    )
  const addBundle = (path: string, dir: string) =>
    add(path, (file) =>
      git.run(['bundle', 'create', '-q', '--version=2', file, '--all'], {
        dir,
        signal,
        timeoutMs: LONG_TIMEOUT_MS,
      }),
    )

  // The version of the export format.
  await addText('VERSION', '0.2.4')
  await addText('tree/project.json', storableJson(projectRecord(project)))
  await addLines('project_feature', [featureRecord(project)])
  await addLines(
    'issues',
    project.items('issues').map((issue) => issueRecord(project, issue)),
  )
  await addLines('merge_requests', mergeRequests(project, { git, dir, refs, signal }))
  await addLines('commit_notes', commitNotes(project))
  await addLines('releases', releases(project, { ...exportOptions, refs, assets }))
  await addLines('protected_branches', protectedBranches(project))
  await addLines('milestones', project.milestones.values())
  await addLines('labels', project.labels.values())
  await addLines('project_members', members(project))
  reportOrphans(project)
  const unlinked = uploads.filter(({ url }) => !linkedUrls.has(url)).length
  report.addLoss('attachments_without_link', unlinked, `${fullName}: files that no text links to`)

  // A bundle has the objects of refs, but not what a symbolic ref points to.
  for (const { name, target } of resolvableSymrefs(snapshot.examination.repository.refs))
    report.addLoss('symbolic_refs', 1, `${fullName}: ${decodeUtf8(name)} → ${decodeUtf8(target)}`)
  await reportDetachedHead(
    { git, dir, signal },
    snapshot.examination.repository.head,
    exportOptions,
  )
  await setHead(dir, refs, exportOptions.repository.defaultBranch)
  if (refs.size > 0) await addBundle('project.bundle', dir)
  const wiki = snapshot.wiki?.dir
  const hasPages = wiki !== undefined && (await readOidsByRef({ git, dir: wiki, signal })).size > 0
  if (hasPages) await addBundle('project.wiki.bundle', wiki)
  const lfs = snapshot.examination.repository.lfsObjects.map(({ path, from }) => ({
    oid: path.split('/').at(-1)!,
    from,
  }))
  files.push(...lfs.map(({ oid, from }) => ({ path: `lfs-objects/${oid}`, from })))
  // An importer rejects an object that this file does not list. 0 is the repository of the project.
  if (lfs.length > 0)
    await addText(
      'lfs-objects.json',
      storableJson(Object.fromEntries(lfs.map(({ oid }) => [oid, [0]]))),
    )

  const archive = join(directory, 'export.tar.gz')
  await writeArchive(archive, files, { madeAt: content.summary.madeAt, signal })
  const target = join(into, fullName)
  const hasAssets = existsSync(assets)
  if (hasAssets) await syncTree(assets)
  await moveDurably(dirname(target), async () => {
    if (hasAssets) await rename(assets, `${target}_assets`)
    await rename(archive, `${target}_export.tar.gz`)
  })
  if (hasAssets)
    report.notes.push(`publish ${target}_assets as ${exportOptions.assetBaseUrl}${fullName}_assets`)
}

/** Finds the uploads of a repository. `linkedUrls` gets those that texts link to, while these are rewritten. */
async function openProject(exportOptions: ExportOptions) {
  const { fullName } = exportOptions
  const uploads = await findUploads(
    new RepositoryRecords(exportOptions, fullName),
    exportOptions.content,
  )
  const linkedUrls = new Set<string>()
  const targets = {
    isPull: (name: string, number: number) =>
      new RepositoryRecords(exportOptions, name).has('pull_requests', number),
    upload(key: string) {
      const upload = uploads.get(key)
      if (upload) linkedUrls.add(upload.url)
      return upload
    },
  }
  const here = fullName.toLowerCase()
  const text = (body: string | null) => (body ? rewriteForGitLab(body, here, targets) : '')
  const project = new Project(exportOptions.repository, { ...exportOptions, text })
  return { project, uploads: [...uploads.values()], linkedUrls }
}

type Records = AsyncIterable<object> | Iterable<object>

const BATCH_LENGTH = 64 * 1024

/** Yields the records as lines of JSON, many at a time. */
async function* jsonLines({ report, fullName }: Project, relation: string, records: Records) {
  let batch = ''
  for await (const record of records) {
    const line = `${storableJson(record)}\n`
    if (Buffer.byteLength(line) > MAX_JSON_BYTES) {
      const name = 'iid' in record ? `#${record.iid}` : 'a record'
      report.addSkippedRecord(relation, `${fullName}: ${name} is longer than 50 MiB`)
      continue
    }
    batch += line
    if (batch.length < BATCH_LENGTH) continue
    yield batch
    batch = ''
  }
  yield batch
}

/** Writes a gzipped tar, and syncs it. Bundles are not compressed again. */
async function writeArchive(
  path: string,
  files: readonly ExportFile[],
  { madeAt, signal }: { madeAt: string | null; signal: AbortSignal },
): Promise<void> {
  const entries: FileEntry[] = []
  const modifiedAt = Date.parse(madeAt ?? '') || 0
  // Several attachments can have one file.
  for (const { path, from } of new Map(files.map((each) => [each.path, each])).values()) {
    const { size } = await stat(from)
    const packed = path.endsWith('.bundle')
    const open = () => createReadStream(from)
    entries.push({ kind: 'file', path, size, modifiedAt, packed, open })
  }
  await withWriteContext(path, async () => {
    await using handle = await open(path, 'wx')
    await handle.writeFile(ARCHIVE_HEAD)
    const segment = await writeSegment(entries, (bytes) => handle.writeFile(bytes), { signal })
    const end = planArchive([{ ...segment, key: path }]).parts.at(-1)!
    if ('bytes' in end) await handle.writeFile(end.bytes)
    await handle.sync()
  })
}
