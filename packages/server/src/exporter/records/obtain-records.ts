import { hash } from 'node:crypto'
import {
  type Discussions,
  type FileToFetch,
  type Group,
  type ReadState,
  readStateOf,
} from '@godwit/hosts/discussions'
import { HostUnavailable } from '@godwit/hosts/host-errors'
import type { RepositoryName } from '@godwit/hosts/source'
import { type Loss, Losses } from '@godwit/lib/findings'
import type { Db } from '../../db/database.ts'
import { LeaseTaken, releaseLease, renewLease, whileRenewing } from '../../db/lease-store.ts'
import type { ExportTask, MigrationOptions } from '../../migrations/migration.ts'
import { migrationOwner } from '../../migrations/migration-store.ts'
import {
  keysOfRecords,
  type RepositoryRecords,
  saveRecordsProgress,
} from '../../migrations/outcomes.ts'
import {
  insertSegment,
  markSegmentsUsed,
  readContents,
  type SegmentRecord,
} from '../../migrations/segment-store.ts'
import { RetryLater } from '../../queue/queue.ts'
import { leaseReading, storeBatch, storedDiscussions } from '../../repositories/discussion-store.ts'
import type { RepositoryMetadata } from '../../repositories/repository-metadata.ts'
import { findReusable, type ReuseDependencies } from '../check-segments.ts'
import { writeFilesSegment } from './files-segment.ts'
import {
  type BuildRowsDependencies,
  buildRows,
  type FilesContents,
  type FilesFolder,
  folderOf,
  type RowsContents,
} from './record-rows.ts'

export interface RecordsDependencies
  extends ReadingDependencies,
    BuildRowsDependencies,
    ReuseDependencies {}

interface RecordsOptions
  extends ReadOptions,
    Pick<MigrationOptions, 'excludeAttachments' | 'excludeReleases'> {
  /** When the export began. Answers of the forge about owners and people are shared by its repositories. */
  since: number
  /** A segment with missing files is reused only by retries of the same task. */
  task: string
  /** The login of the person who gets the archive. Undefined if that may have everything about organizations. */
  viewer?: string | undefined
}

/** Increase it when the format of rows changes. */
const ROWS_FORMAT = 3

/**
 * Reads the current records of a repository from the forge, and finds or writes the blob of its rows and the segments of its
 * files.
 */
export async function obtainRecords(
  { forge, ...others }: RecordsDependencies,
  options: RecordsOptions,
  stopSignal: AbortSignal,
): Promise<RepositoryRecords> {
  const discussions = forge.discussions.sharing(options.since)
  const dependencies = { ...others, forge: { ...forge, discussions } }
  return withDiscussions(dependencies, options, stopSignal, async (reading, signal) => {
    const { repository, viewer } = options
    const owner = await discussions.owner(repository.owner, signal, viewer)
    const rows = await obtainRows(dependencies, repository, owner, reading, signal)
    const obtainFiles = (folder: FilesFolder) =>
      obtainFilesSegment(dependencies, { ...options, folder, reading, rows }, signal)
    const attachments = options.excludeAttachments ? NO_FILES : await obtainFiles('attachments')
    const assets = options.excludeReleases ? NO_FILES : await obtainFiles('release_assets')
    return {
      rowsKey: rows.key,
      attachmentsKey: attachments.key,
      assetsKey: assets.key,
      asOf: reading.asOf,
      losses: [
        ...notRead([...reading.notes, ...(owner.notes ?? [])]),
        ...rows.contents.losses,
        ...attachments.missing,
        ...assets.missing,
      ],
      reused: rows.reused && attachments.reused && assets.reused,
      count: countIn(rows.contents),
    }
  })
}

/** Returns the sentences of a read as one loss, with all of them as examples. */
const notRead = (notes: string[]): Loss[] =>
  notes.length === 0 ? [] : [{ kind: 'not_read', count: notes.length, examples: notes }]

const countIn = ({ sections }: RowsContents): number =>
  sections
    .filter(({ kind }) => kind === 'issues' || kind === 'pull_requests')
    .reduce((sum, { count }) => sum + count, 0)

interface ObtainedRows {
  key: string
  contents: RowsContents
  reused: boolean
}

async function obtainRows(
  dependencies: RecordsDependencies,
  repository: RepositoryName,
  owner: Group,
  { stored, changeToken, renew }: CurrentReading,
  signal: AbortSignal,
): Promise<ObtainedRows> {
  const fullName = `${repository.owner}/${repository.name}`
  const input = ['rows', ROWS_FORMAT, dependencies.forge.url, fullName, changeToken, owner.version]
  const fingerprint = hash('sha256', JSON.stringify(input))
  const existing = await findContents<RowsContents>(dependencies, fingerprint, signal)
  if (existing) return { ...existing, reused: true }
  const { segment, ...built } = await buildRows(
    dependencies,
    fullName,
    owner,
    stored.groups(),
    signal,
  )
  const contents: RowsContents = { forge: dependencies.forge.url, ...built }
  await renew()
  const key = await recordSegment(dependencies, segment, fingerprint, contents)
  return { key, contents, reused: false }
}

interface ObtainedFiles {
  key: string | null
  reused: boolean
  missing: Loss[]
}

const NO_FILES: ObtainedFiles = { key: null, reused: true, missing: [] }
/** How many missing files the report names. */
const MAX_NAMED = 100

interface FilesOptions extends Pick<RecordsOptions, 'repository' | 'task'> {
  folder: FilesFolder
  reading: CurrentReading
  rows: ObtainedRows
}

/** Finds or writes the segment with the attachments or the release assets. */
async function obtainFilesSegment(
  dependencies: RecordsDependencies,
  { repository, task, folder, reading, rows }: FilesOptions,
  signal: AbortSignal,
): Promise<ObtainedFiles> {
  const digest = rows.contents.files[folder]
  if (digest === null) return NO_FILES
  const { url, discussions } = dependencies.forge
  const fullName = `${repository.owner}/${repository.name}`
  const input = ['files', url, fullName, digest]
  const fingerprint = hash('sha256', JSON.stringify(input))
  const existing = await findContents<FilesContents>(dependencies, fingerprint, signal)
  if (existing) return { key: existing.key, reused: true, missing: [] }
  // Missing files may be available tomorrow, so only retries of this task reuse a segment without them.
  const taskFingerprint = hash('sha256', JSON.stringify([...input, task]))
  const ofTask = await findContents<FilesContents>(dependencies, taskFingerprint, signal)
  if (ofTask) return { key: ofTask.key, reused: false, missing: ofTask.contents.missing }
  const listFiles = () => filesIn(reading.stored.groups(), folder)
  const written = await writeFilesSegment({ ...dependencies, discussions }, listFiles, signal)
  const losses = new Losses(MAX_NAMED)
  for (const { file, reason } of written.missing) losses.add(folder, 1, `${file}: ${reason}`)
  const missing = losses.all()
  const contents: FilesContents = { full_name: fullName, files: written.files, missing }
  await reading.renew()
  const recordedAs = missing.length === 0 ? fingerprint : taskFingerprint
  const key = await recordSegment(dependencies, written.segment, recordedAs, contents)
  return { key, reused: false, missing }
}

async function* filesIn(
  groups: AsyncIterable<Group>,
  folder: FilesFolder,
): AsyncGenerator<FileToFetch> {
  for await (const { files } of groups)
    for (const file of files) if (folderOf(file.file) === folder) yield file
}

async function findContents<T>(
  dependencies: RecordsDependencies,
  fingerprint: string,
  signal: AbortSignal,
): Promise<{ key: string; contents: T } | undefined> {
  const key = await findReusable(dependencies, fingerprint, signal)
  if (key === undefined) return undefined
  const contents = await readContents(dependencies.db, key)
  return contents === null ? undefined : { key, contents: JSON.parse(contents) as T }
}

/** Inserts the row of a blob. If another export has inserted one with the same fingerprint, returns its key and deletes the blob. */
async function recordSegment(
  { db, blobs, now }: RecordsDependencies,
  segment: SegmentRecord,
  fingerprint: string,
  contents: RowsContents | FilesContents,
): Promise<string> {
  const found = { ...segment, fingerprint, contents: JSON.stringify(contents) }
  const key = await insertSegment(db, found, now())
  if (key !== segment.key) await blobs.delete(segment.key)
  return key
}

interface TaskInput {
  metadata: RepositoryMetadata
  options: MigrationOptions
  /** When the export of the migration began. */
  since: number
  /** When the export of this repository began. */
  startedAt: number
}

/** Reads the records for a repository of a migration. Throws RetryLater if the forge is unavailable or another reader is active. */
export async function recordsForTask(
  dependencies: Omit<RecordsDependencies, 'forge'> & {
    forge: RecordsDependencies['forge'] | undefined
  },
  task: ExportTask,
  { metadata, options, since, startedAt }: TaskInput,
  signal: AbortSignal,
): Promise<RepositoryRecords> {
  const { db, forge, now } = dependencies
  // The process that started the migration had a forge, so this one is misconfigured.
  if (!forge) throw new RetryLater('this process has no --forge: the records cannot be read')
  const owner = await migrationOwner(db, task.migrationId)
  const record = (done: number, expected: number) =>
    saveRecordsProgress(db, task, { done, expected, startedAt, now: now() })
  await record(0, 0)
  const name = `${task.migrationId}/${task.position}`
  const recordsOptions: RecordsOptions = {
    ...options,
    repository: { owner: metadata.owner.login, name: metadata.name },
    reader: name,
    task: name,
    since,
    viewer: owner?.type === 'User' && !owner.siteAdmin ? owner.login : undefined,
    onProgress: ({ read, total }) => record(read, total),
  }
  try {
    return await obtainRecords({ ...dependencies, forge }, recordsOptions, signal)
  } catch (error) {
    if (error instanceof LeaseTaken) throw new RetryLater(error.message, { cause: error })
    if (!(error instanceof HostUnavailable)) throw error
    throw new RetryLater(error.message, { cause: error, dueAt: error.dueAt })
  }
}

/** Marks the segments of records as used, so that they are not swept. */
export async function markRecordsUsed(
  tx: Db,
  records: RepositoryRecords,
  now: number,
): Promise<void> {
  const keys = keysOfRecords(records)
  const used = await markSegmentsUsed(tx, keys, now)
  if (used.size !== new Set(keys).size)
    throw new Error('a segment of records was swept or is damaged')
}

interface ReadingDependencies {
  db: Db
  now: () => number
  /** `url` has no trailing slash. */
  forge: { url: string; discussions: Discussions }
}

interface ReadOptions {
  repository: RepositoryName
  /** The holder of the lease. After a crash, a reader with the same name may start again at once. Others must wait. */
  reader: string
  onProgress(progress: { read: number; total: number }): Promise<void>
}

/** A complete read. All of it is at least as new as `asOf`. */
interface CurrentReading extends Pick<ReadState, 'changeToken' | 'notes' | 'asOf'> {
  stored: Awaited<ReturnType<typeof storedDiscussions>>
  /** Renews the lease. Throws LeaseTaken if another reader has taken over. Then nothing may be recorded. */
  renew(): Promise<void>
}

/**
 * Updates the stored discussions of a repository batch by batch, and passes them to `use` while no other reader can change
 * them. Throws LeaseTaken if another reader has the lease or takes over. The latter also aborts the signal that `use` gets.
 */
export async function withDiscussions<T>(
  { db, now, forge }: ReadingDependencies,
  { repository, reader, onProgress }: ReadOptions,
  signal: AbortSignal,
  use: (reading: CurrentReading, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { url, discussions } = forge
  const lease = await leaseReading(db, url, repository, { reader, now: now() })
  const renew = () => renewLease(db, lease, now())
  const reading = whileRenewing({ db, lease, now, signal }, async (signal) => {
    let stored = await storedDiscussions(db, url, repository)
    const changes = await discussions.findChanges(repository, stored, signal)
    let state = readStateOf(stored.cursor)
    // If the change token is unchanged, `asOf` stays that of the last read: the change token does not cover everything that may change.
    if (!state?.isComplete || state.changeToken !== changes.changeToken) {
      for await (const batch of changes.batches()) {
        await storeBatch(db, url, repository, batch, now(), lease)
        await onProgress(batch.progress)
      }
      stored = await storedDiscussions(db, url, repository)
      state = readStateOf(stored.cursor)
      if (!state?.isComplete) throw new Error('the discussions were not read completely')
    }
    const { changeToken, notes, asOf } = state
    return use({ stored, changeToken, notes, asOf, renew }, signal)
  })
  return reading.finally(() => releaseLease(db, lease).catch(() => {}))
}
