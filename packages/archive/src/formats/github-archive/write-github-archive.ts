import { hash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Snapshot } from '@godwit/git/snapshot'
import { withWriteContext } from '@godwit/lib/disk-errors'
import type { JsonObject } from '@godwit/lib/json-shape'
import { isFullName } from '@godwit/lib/names'
import { type SortedRows, sortedRows } from '@godwit/lib/sorted-rows'
import { UserError } from '@godwit/lib/user-error'
import { type User, unknownUser } from '../../records/people.ts'
import { COMMON_REACTIONS } from '../../records/record.ts'
import {
  RECORD_KINDS,
  type RecordKind,
  type RecordsByKind,
  type WrittenKind,
} from '../../records/record-kinds.ts'
import { findLinks, type HostUrls, type RecordLink } from '../../records/record-urls.ts'
import type { Attachment, ReleaseAsset } from '../../records/release.ts'
import type { Label, Repository } from '../../records/repository.ts'
import { splitIntoFiles, toGitHubRecord } from '../../records/write-records.ts'
import {
  MANIFEST_FORMAT,
  MANIFEST_PATH,
  type Manifest,
  type ManifestFile,
  type ManifestSegment,
  UPLOAD_FOLDERS,
} from '../../tar/manifest.ts'
import { planArchive, type StoredSegment } from '../../tar/plan-archive.ts'
import { type FileEntry, type SegmentEntry, writeSegment } from '../../tar/write-segment.ts'
import {
  type Conversion,
  type FormatWriter,
  type FoundFile,
  UNKNOWN_HOST,
  type Written,
  writeRepositories,
} from '../format.ts'
import { sync, uuidFrom } from '../output.ts'
import { contentsOf, digestsOf, SCHEMA } from './segment-contents.ts'

export interface GitHubArchiveOptions {
  /** The archive, which must not exist. */
  output: string
  /** A directory on the same file system. */
  workDirectory: string
  /** The program and its version, such as `godwit 0.1.0`. */
  generator: string
  now(): number
}

/** Writes an archive in GitHub's format, with a manifest like that of Godwit's own exports. */
export function githubArchiveWriter(options: GitHubArchiveOptions): FormatWriter {
  if (existsSync(options.output))
    throw new UserError(`${options.output} already exists; name another file`)
  return { write: (conversion) => new ArchiveWriter({ ...options, ...conversion }).write() }
}

/** Archives have no discussions. */
const UNWRITTEN_KINDS: readonly RecordKind[] = ['discussion_categories', 'discussions']
/** Kinds that are written as records of another kind. */
const WRITTEN_AS: Partial<Record<RecordKind, WrittenKind>> = {
  bots: 'users',
  repository_files: 'attachments',
}
const WRITTEN = RECORD_KINDS.filter(
  (kind) => !UNWRITTEN_KINDS.includes(kind) && !WRITTEN_AS[kind],
) as WrittenKind[]
/** Other records belong to these, and their repository gets the labels that only they have. */
const READ_FIRST: readonly WrittenKind[] = ['issues', 'pull_requests']
/** Attachments belong to any other record, and every record may name a user. */
const READ_LAST: readonly WrittenKind[] = ['attachments', 'users']
const READING_ORDER = [
  ...READ_FIRST,
  ...WRITTEN.filter((kind) => ![...READ_FIRST, ...READ_LAST].includes(kind)),
  ...READ_LAST,
]

/** The links that are left out if their target is missing. A record whose other links are broken is left out itself. */
const isOptionalLink = (kind: WrittenKind, { field }: RecordLink): boolean =>
  field.includes('[') ||
  (kind !== 'attachments' &&
    /^(?:milestone|parent_team|in_reply_to|pull_request_review(?:_thread)?)$/.test(field))

/** A record before its links are checked, with its repository as `OWNER/NAME`, or '' if it has none. */
type Unchecked = { repository: string; githubRecord: JsonObject }

class ArchiveWriter {
  readonly #options: GitHubArchiveOptions & Conversion
  readonly #createdAt: number
  /** The base of the URLs of people. */
  readonly #host: string
  /** In the order of the archive, without the metadata and the manifest. */
  readonly #segments: StoredSegment[] = []
  readonly #repositories = new Map<string, Manifest['repositories'][number]>()
  readonly #storedFiles: Manifest['stored_files'] = []
  readonly #skipped: Manifest['skipped'] = []
  /** Files of records, by kind. They are written when the records are read, and packed in the order of the kinds. */
  readonly #records = new Map<WrittenKind, ManifestFile[]>()
  /** The files of each repository that its records name, by path. */
  readonly #uploads = new Map<string, Map<string, FoundFile>>()
  /** The repository that has files in a folder of uploads, and the first of these files, by the path of the folder. */
  readonly #uploadFolders = new Map<string, { repository: string; file: string }>()
  /** The new UUID by `OWNER/NAME UUID`, without hyphens, of attachments of different repositories that had the same one. */
  readonly #newUuids = new Map<string, string>()
  /** The logins that records link to, by login in lower case. Each needs a record. */
  readonly #logins = new Map<string, string>()
  readonly #organizations = new Set<string>()
  /** The URLs of all records and labels. A link to any other URL would break importers. */
  readonly #urls = new Set<string>()
  /** Names of the labels of issues, by `OWNER/NAME`. */
  readonly #usedLabels = new Map<string, Set<string>>()

  constructor(options: GitHubArchiveOptions & Conversion) {
    this.#options = options
    this.#createdAt = options.now()
    const { content } = options
    this.#host =
      content.fullNames.map((name) => originOf(content.urlOf(name))).find(Boolean) ?? UNKNOWN_HOST
  }

  async *write(): AsyncGenerator<Written> {
    const { content, report, signal, output, workDirectory } = this.#options
    await mkdir(join(workDirectory, 'records'))
    const written = writeRepositories(this.#options, async (fullName, { snapshot, missingLfs }) => {
      for (const line of await missingLfs()) report.warn('LFS objects', line)
      await this.#packRepository(fullName, snapshot)
    })
    for await (const { fullName, errors } of written) {
      const reason = errors.join('; ')
      if (errors.length > 0 && isFullName(fullName))
        this.#skipped.push({ full_name: fullName, reason })
      else if (errors.length > 0) report.addLoss('repositories', 1, `${fullName}: ${reason}`)
      yield { fullName, errors }
    }
    if (this.#repositories.size === 0) return
    for (const kind of UNWRITTEN_KINDS)
      for await (const _ of content.records(kind)) report.addLoss(kind)
    for (const fullName of this.#repositories.keys()) this.#urls.add(this.#repositoryUrl(fullName))
    using rows = sortedRows(join(workDirectory, 'rows'))
    for (const kind of READING_ORDER) {
      const records = kind === 'users' ? this.#userRecords() : this.#recordsOf(kind)
      for await (const each of records) rows.add(kind, 0, 0, each)
    }
    for (const kind of WRITTEN) await this.#writeRecords(kind, this.#checkedRecords(kind, rows))
    for (const [fullName, files] of this.#uploads) await this.#packUploads(fullName, files)
    const metadata = await this.#packMetadata()
    const segments = [metadata.stored, ...this.#segments, await this.#packManifest(metadata)]
    const file = join(workDirectory, 'archive')
    const bytes = bytesOf(planArchive(segments).parts)
    await withWriteContext(output, () => pipeline(bytes, createWriteStream(file), { signal }))
    await sync(file)
    await rename(file, output)
    await sync(dirname(output))
  }

  /** Writes a segment to a file in the work directory. Adds the digests of its files to `files`. */
  async #pack(
    entries: AsyncIterable<SegmentEntry> | Iterable<SegmentEntry>,
    files?: ManifestFile[],
  ) {
    const { workDirectory, signal } = this.#options
    const key = join(workDirectory, `segment-${randomUUID()}`)
    const sink = (bytes: AsyncIterable<Uint8Array>) => pipeline(bytes, createWriteStream(key))
    const options = { signal, ...(files && { files }) }
    const stored: StoredSegment = { key, ...(await writeSegment(entries, sink, options)) }
    return { stored, segment: digestsOf(stored) }
  }

  async #packRepository(fullName: string, snapshot: Snapshot): Promise<void> {
    const files: ManifestFile[] = []
    const entries = snapshot.entries() as Iterable<SegmentEntry>
    const { stored, segment } = await this.#pack(entries, files)
    const { missingLfs } = await snapshot.report()
    this.#segments.push(stored)
    this.#repositories.set(fullName, { ...contentsOf(snapshot, missingLfs, files), segment })
  }

  /** Yields the records of a kind. Those of repositories that could not be written, or of missing issues, are left out with them. */
  async *#recordsOf(kind: WrittenKind): AsyncGenerator<Unchecked> {
    for (const each of RECORD_KINDS.filter((each) => (WRITTEN_AS[each] ?? each) === kind))
      for await (const read of this.#options.content.records(each)) {
        const record = (await this.#adapt(each, read)) as RecordsByKind[WrittenKind] | undefined
        if (!record) continue
        const repository = 'repository' in record ? record.repository : ''
        const urls = this.#urlsFor(repository)
        const githubRecord = toGitHubRecord(kind, record, urls)
        if (Array.isArray(githubRecord.labels) && repository !== '')
          for (const url of githubRecord.labels) this.#urls.add(url)
        const broken = this.#brokenLinks(githubRecord).find((link) => !isOptionalLink(kind, link))
        if (broken && kind === 'attachments')
          yield {
            repository,
            githubRecord: toGitHubRecord(kind, onRepository(record as Attachment), urls),
          }
        else if (broken) {
          const why = `${githubRecord.url} belongs to ${broken.url}, which is not in the input`
          this.#options.report.addSkippedRecord(kind, why)
        } else {
          this.#urls.add(String(githubRecord.url))
          yield { repository, githubRecord }
        }
      }
  }

  /** Yields the records of a kind with the new UUIDs of attachments, and without links to records that the input lacks. */
  *#checkedRecords(kind: WrittenKind, rows: SortedRows): Generator<JsonObject> {
    for (const [, { repository, githubRecord }] of rows.all<Unchecked>(kind)) {
      // From the end, because an item that is removed from a list changes the positions of those after it.
      for (const { field, url } of this.#brokenLinks(githubRecord).reverse()) {
        const why = `${githubRecord.url}: ${field} leads to ${url}, which is not in the input`
        this.#options.report.warn('links', `${why}; the link is left out`)
        removeLink(githubRecord, field)
      }
      yield this.#withNewUuids(repository, githubRecord)
    }
  }

  #brokenLinks(githubRecord: JsonObject): RecordLink[] {
    return findLinks(githubRecord).filter(({ url, to }) => to === 'record' && !this.#urls.has(url))
  }

  /** Returns the record with the new UUIDs of attachments in its text. */
  #withNewUuids(repository: string, githubRecord: JsonObject): JsonObject {
    if (this.#newUuids.size === 0 || repository === '') return githubRecord
    const newUuid = (uuid: string) => this.#newUuids.get(uuidKey(repository, uuid)) ?? uuid
    const changed: JsonObject = {}
    for (const key of ['body', 'description']) {
      const text = githubRecord[key]
      if (typeof text === 'string') changed[key] = text.replace(UUIDS, newUuid)
    }
    return { ...githubRecord, ...changed }
  }

  /** Returns the record without what the archive lacks, or undefined if the record itself must be left out. */
  async #adapt(kind: RecordKind, record: RecordsByKind[RecordKind]): Promise<object | undefined> {
    if (kind === 'organizations' && 'login' in record) {
      const key = record.login.toLowerCase()
      if (this.#organizations.has(key)) {
        this.#options.report.addSkippedRecord(kind, `${record.login} occurs twice`)
        return undefined
      }
      this.#organizations.add(key)
    }
    if ('git' in record) {
      const packed = this.#repositories.get(`${record.owner}/${record.name}`)
      const path = `repositories/${record.owner}/${record.name}`
      // A link to a missing wiki breaks importers.
      const wiki = packed?.wiki ? `${path}.wiki.git` : undefined
      return packed && { ...record, git: `${path}.git`, wiki, labels: this.#labelsOf(record) }
    }
    if (!('repository' in record)) return record
    if (!this.#repositories.has(record.repository)) return undefined
    if ('labels' in record) {
      const used = this.#usedLabels.getOrInsertComputed(record.repository, () => new Set())
      for (const name of record.labels) used.add(name)
    }
    if ('assets' in record) {
      const assets: ReleaseAsset[] = []
      for (const asset of record.assets) {
        const file = await this.#addUpload('release_assets', record.repository, asset.file)
        if (file !== undefined) assets.push({ ...asset, file })
      }
      return { ...record, assets }
    }
    if ('file' in record) {
      const file = await this.#addUpload(kind, record.repository, record.file)
      if (file === undefined) return undefined
      if (!('uuid' in record))
        return { ...record, file, uuid: uuidFrom(file), on: { kind: 'repository' } }
      const uuid = file === record.file ? record.uuid : file.split('/').at(-2)!
      if (uuid !== record.uuid) this.#newUuids.set(uuidKey(record.repository, record.uuid), uuid)
      return { ...record, file, uuid }
    }
    const reactions = 'reactions' in record ? (record.reactions ?? []) : []
    const unknown = reactions.filter(({ content }) => !COMMON_REACTIONS.includes(content))
    for (const { content } of unknown) this.#options.report.addLoss('reactions', 1, content)
    if (unknown.length === 0) return record
    return { ...record, reactions: reactions.filter((each) => !unknown.includes(each)) }
  }

  /**
   * Adds a file that a record names, and returns its path in the archive. A file of another repository in the same folder has the same
   * UUID, so this one gets a new one. Returns undefined if the file is missing: a link to it would break importers.
   */
  async #addUpload(kind: string, repository: string, path: string): Promise<string | undefined> {
    const { content, report } = this.#options
    const found = await content.findFile(path, repository)
    if ('missing' in found) {
      report.addSkippedRecord(kind, `${repository}: ${found.missing}`)
      return undefined
    }
    const own = () => ({ repository, file: found.file })
    const first = this.#uploadFolders.getOrInsertComputed(dirname(path), own)
    const isSameRepository = first.repository === repository
    // Several repositories of one input can have an attachment in common.
    if (!isSameRepository && first.file === found.file) return path
    const folder = `${path.split('/')[0]}/${uuidFrom(`${repository}/${path}`)}`
    const added = isSameRepository ? path : `${folder}/${basename(path)}`
    this.#uploads.getOrInsertComputed(repository, () => new Map()).set(added, found)
    return added
  }

  /** Returns the labels of a repository, and those that only its issues have. */
  #labelsOf({ owner, name, labels, createdAt }: Repository): readonly Label[] {
    const known = new Set(labels.map((label) => label.name))
    const used = this.#usedLabels.get(`${owner}/${name}`) ?? []
    const others = [...used].filter((label) => !known.has(label))
    return [
      ...labels,
      ...others.map((label) => ({ name: label, color: 'ededed', description: null, createdAt })),
    ]
  }

  #urlsFor(repository: string): HostUrls {
    const { content } = this.#options
    return {
      host: originOf(content.urlOf(repository)) ?? this.#host,
      person: (login) => this.#personUrl(login),
      repository: (fullName) => this.#repositoryUrl(fullName),
    }
  }

  /** Returns the URL of a person, who gets a record. All spellings of a login are one person. */
  #personUrl(login: string): string {
    const spelling = this.#logins.getOrInsertComputed(login.toLowerCase(), () => login)
    const url = `${this.#host}/${spelling}`
    this.#urls.add(url)
    return url
  }

  /** Returns a URL that ends in the full name, by which readers know the repository. */
  #repositoryUrl(fullName: string): string {
    const url = this.#options.content.urlOf(fullName)
    const isSameRepository = url.toLowerCase().endsWith(`/${fullName.toLowerCase()}`)
    return isSameRepository ? url : `${originOf(url) ?? this.#host}/${fullName}`
  }

  /** Yields a record for every user, bot and other login that records link to, except organizations, which have their own records. */
  async *#userRecords(): AsyncGenerator<Unchecked> {
    const { content } = this.#options
    const seen = new Set(this.#organizations)
    const unchecked = (user: User) => {
      seen.add(user.login.toLowerCase())
      return { repository: '', githubRecord: toGitHubRecord('users', user, this.#urlsFor('')) }
    }
    for (const kind of ['users', 'bots'] as const)
      for await (const user of content.records(kind))
        if (!seen.has(user.login.toLowerCase())) yield unchecked(user)
    for (const [key, login] of this.#logins) if (!seen.has(key)) yield unchecked(unknownUser(login))
  }

  async #writeRecords(kind: WrittenKind, records: Iterable<unknown>): Promise<void> {
    const files: ManifestFile[] = []
    this.#records.set(kind, files)
    for await (const { name: path, text } of splitIntoFiles(kind, records)) {
      files.push({ path, size: Buffer.byteLength(text), sha256: hash('sha256', text) })
      await writeFile(join(this.#options.workDirectory, 'records', path), text)
    }
  }

  async #packUploads(fullName: string, uploads: ReadonlyMap<string, FoundFile>): Promise<void> {
    const files: ManifestFile[] = []
    async function* entries(): AsyncGenerator<SegmentEntry> {
      // The metadata has these.
      const folders = new Set(UPLOAD_FOLDERS)
      for (const [path, { file, bytes: size }] of uploads) {
        const folder = dirname(path)
        if (!folders.has(folder)) yield { kind: 'directory', path: folder, modifiedAt: 0 }
        folders.add(folder)
        yield fileEntry({ path, size, modifiedAt: 0, open: () => createReadStream(file) })
      }
    }
    const { stored, segment } = await this.#pack(entries(), files)
    this.#segments.push(stored)
    this.#storedFiles.push({ full_name: fullName, segment, files })
  }

  async #packMetadata() {
    const folder = join(this.#options.workDirectory, 'records')
    const schema = { path: 'schema.json', size: SCHEMA.length, sha256: hash('sha256', SCHEMA) }
    await writeFile(join(folder, schema.path), SCHEMA)
    const records = RECORD_KINDS.flatMap((kind) => this.#records.get(kind as WrittenKind) ?? [])
    const files = [schema, ...records]
    const owners = new Set([...this.#repositories.keys()].map((name) => name.split('/')[0]!))
    const uploads = this.#storedFiles.flatMap((each) => each.files)
    const uploadFolders = new Set(uploads.map(({ path }) => path.split('/')[0]!))
    const ownerFolders = [...owners].map((owner) => `repositories/${owner}`)
    const folders = [...uploadFolders, 'repositories', ...ownerFolders]
    const modifiedAt = this.#createdAt
    async function* entries(): AsyncGenerator<SegmentEntry> {
      for (const { path, size } of files) {
        const open = () => createReadStream(join(folder, path))
        yield fileEntry({ path, size, modifiedAt, open })
      }
      for (const path of folders) yield { kind: 'directory', path, modifiedAt }
    }
    return { ...(await this.#pack(entries())), files }
  }

  async #packManifest({ segment, files }: { segment: ManifestSegment; files: ManifestFile[] }) {
    const { report } = this.#options
    const newLosses = report.losses().map((loss) => ({ full_name: null, ...loss }))
    const losses = [...report.earlierLosses, ...newLosses]
    const manifest: Manifest = {
      format: MANIFEST_FORMAT,
      generator: this.#options.generator,
      migration_guid: randomUUID(),
      created_at: new Date(this.#createdAt).toISOString(),
      repositories: [...this.#repositories.values()],
      skipped: this.#skipped,
      metadata: { segment, files },
      stored_files: this.#storedFiles,
      ...(losses.length > 0 && { losses }),
    }
    const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
    const file = { path: MANIFEST_PATH, size: bytes.length, modifiedAt: this.#createdAt }
    return (await this.#pack([fileEntry({ ...file, open: () => [bytes] })])).stored
  }
}

const fileEntry = (entry: Omit<FileEntry, 'kind' | 'packed'>): FileEntry => ({
  ...entry,
  kind: 'file',
  packed: false,
})

const onRepository = (attachment: Attachment): Attachment => ({
  ...attachment,
  on: { kind: 'repository' },
})

/** Sets a field of a record to null, or removes the item of a list with the link. */
function removeLink(githubRecord: JsonObject, field: string): void {
  const [, name = '', index] = /^(\w+)(?:\[(\d+)\])?/.exec(field) ?? []
  const list = githubRecord[name]
  if (index !== undefined && Array.isArray(list)) list.splice(Number(index), 1)
  else githubRecord[name] = null
}

const originOf = (url: string): string | undefined => URL.parse(url)?.origin

const UUIDS = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/gi

const uuidKey = (repository: string, uuid: string): string =>
  `${repository} ${uuid.replaceAll('-', '').toLowerCase()}`

/** Reads the parts of an archive whose segments are files. */
async function* bytesOf(parts: ReturnType<typeof planArchive>['parts']) {
  for (const part of parts)
    if ('bytes' in part) yield part.bytes
    else yield* createReadStream(part.key) as AsyncIterable<Uint8Array>
}
