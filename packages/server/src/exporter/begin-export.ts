import { RepositoryBusy, Unreadable } from '@godwit/git/unreadable'
import type { Source } from '@godwit/hosts/source'
import { batchesOf } from '@godwit/lib/chunks'
import { mapConcurrent } from '@godwit/lib/turns'
import type { Db } from '../db/database.ts'
import { logNotExported, type OutcomeLog } from '../migrations/end-migration.ts'
import { changeState, migrationById } from '../migrations/export-store.ts'
import { reconcileLocksOf } from '../migrations/locks.ts'
import {
  batchOfMigration,
  EXPORT_RECORDS,
  EXPORT_REPOSITORY,
  type ExportTask,
  type Migration,
  type MigrationJob,
  SEAL_ARCHIVE,
} from '../migrations/migration.ts'
import { migrationOwner } from '../migrations/migration-store.ts'
import { type ReusedSegment, recordReused } from '../migrations/outcome-store.ts'
import { outcomesOf } from '../migrations/outcomes.ts'
import { namedRepositoriesOf, repositoriesAt } from '../migrations/repository-list-store.ts'
import {
  type Examined,
  markSegmentsUsed,
  probablyUnchanged,
  recordExamination,
} from '../migrations/segment-store.ts'
import { type Job, PermanentError, type Queue, RetryLater, type Run } from '../queue/queue.ts'
import type { RepositorySummary } from '../repositories/metadata-store.ts'
import { PermissionsUnavailable } from '../repositories/permissions-unavailable.ts'
import {
  AccountRemoved,
  type PermissionsRefresher,
  RECENT,
} from '../repositories/refresh-permissions.ts'
import { findByNameAsMap } from '../repositories/repository-store.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import { readableAmong } from '../repositories/visible-repository.ts'
import { isRecentlyChecked, type ReuseDependencies } from './check-segments.ts'
import { enqueueExports } from './export-small-repositories.ts'
import type { SegmentMaker } from './make-segment.ts'
import type { RecordsDependencies } from './records/obtain-records.ts'

export interface BeginDependencies extends ReuseDependencies, ExportPermissionsDependencies {
  queue: Queue
  segments: SegmentMaker
  /** The forge that issues and other records are read from, if any. */
  forge: RecordsDependencies['forge'] | undefined
  log: OutcomeLog
}

/** A repository whose examination ends the process is left to its own job, which is given up without the others. */
const MAX_EXAMINED_ATTEMPTS = 2

/** Applies the locks, records the repositories that have not changed as reused, and enqueues the exports of the others. */
export async function beginExport(
  dependencies: BeginDependencies,
  { payload, failures }: Job,
  run: Run,
): Promise<void> {
  const { migrationId } = payload as MigrationJob
  await refreshExportPermissions(dependencies, { migrationId })
  const { db, queue, now } = dependencies
  const migration = await migrationById(db, migrationId)
  const { excludeGitData, excludeMetadata, orgMetadataOnly } = migration.options
  await applyLocks(dependencies, migrationId)
  const all = await namedRepositoriesOf(db, migration)
  // A retry and a run of a schedule leave out repositories: those have the outcome `skipped` from the beginning.
  const skipped = await outcomesOf(db, migration)
  const repositories = all
    .map((each, position) => ({ ...each, position }))
    .filter(({ position }) => !skipped.has(position))
  const unchanged =
    failures < MAX_EXAMINED_ATTEMPTS
      ? await findUnchanged(dependencies, migration, repositories, run.signal)
      : new Map<number, Unchanged>()
  await run.finish(async (tx) => {
    await changeState(tx, migrationId, 'exporting', { now: now() })
    // Some of the segments may have been swept meanwhile.
    const keys = [...unchanged.values()].map(({ segmentKey }) => segmentKey)
    const used = await markSegmentsUsed(tx, keys, now())
    for (const [position, each] of unchanged) {
      const problems = used.get(each.segmentKey)
      if (!problems) {
        unchanged.delete(position)
        continue
      }
      Object.assign(each, problems)
      if (each.hasNewChangeToken) await recordExamination(tx, each.segmentKey, each)
    }
    await recordReused(tx, migrationId, unchanged, now())
    const changed = repositories.filter(({ position }) => !unchanged.has(position))
    const batch = batchOfMigration(migrationId)
    if (changed.length === 0) return queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }], batch)
    // The largest first: if it started last, it would still run when all others are done.
    const ordered = changed.toSorted((a, b) => b.bytes - a.bytes)
    const tasks = ordered.map(({ position }): ExportTask => ({ migrationId, position }))
    // Records are read before git data, so that the git data contains every commit that they refer to.
    if (dependencies.forge && !excludeMetadata && !orgMetadataOnly)
      return queue.enqueue(tx, EXPORT_RECORDS, tasks, batch)
    if (dependencies.forge || excludeGitData)
      return queue.enqueue(tx, EXPORT_REPOSITORY, tasks, batch)
    return enqueueExports(queue, tx, migrationId, ordered)
  })
  for (const [position, { reason }] of skipped)
    await logNotExported(dependencies, { migrationId, position }, reason ?? '')
}

async function applyLocks(dependencies: BeginDependencies, migrationId: number): Promise<void> {
  try {
    await reconcileLocksOf(dependencies, migrationId)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // If another process is writing the config, a later attempt may succeed.
    const Failure = error instanceof RepositoryBusy ? Error : PermanentError
    throw new Failure(`a repository cannot be locked: ${error.message}`, { cause: error })
  }
}

interface Unchanged extends ReusedSegment, Pick<Examined, 'changeToken'> {
  /** Whether the change token differs from the stored one, so that the examination must be recorded. */
  hasNewChangeToken: boolean
}

const INSPECTION_CONCURRENCY = 8
/** A message to another thread takes as long as the examination of a small repository. */
const EXAMINED_AT_ONCE = 20

/**
 * Finds the repositories whose stored segment is still current, by position. Their outcomes are recorded in one transaction,
 * because a transaction for each would take longer than its examination. All other repositories get a job: those that have probably
 * changed, which are not examined here, because the job does that; those whose segment must be read before it can be reused; and
 * those that cannot be read, so that the job reports the reason. With a forge, every repository gets a job.
 */
async function findUnchanged(
  dependencies: BeginDependencies,
  { owner, options }: Migration,
  repositories: readonly (RepositorySummary & { position: number })[],
  signal: AbortSignal,
): Promise<Map<number, Unchanged>> {
  const { db, segments, now } = dependencies
  const unchanged = new Map<number, Unchanged>()
  if (dependencies.forge || options.excludeGitData) return unchanged
  const ids = repositories.map(({ repositoryId }) => repositoryId)
  const readable = await readableAmong(db, owner.id, ids)
  const candidates = await probablyUnchanged(
    db,
    ids.filter((id) => readable.has(id)),
  )
  const limits = { concurrency: INSPECTION_CONCURRENCY, signal }
  const examined = repositories.filter(({ repositoryId }) => candidates.has(repositoryId))
  await mapConcurrent(batchesOf(examined, EXAMINED_AT_ONCE), limits, async (batch, stop) => {
    const startedAt = now()
    const named = batch.map(({ repositoryId, fullName }) => {
      const { key, fingerprint, bytes, changeToken } = candidates.get(repositoryId)!
      const [owner, name] = fullName.split('/') as [string, string]
      return { owner, name, last: { key, fingerprint, bytes, changeToken } }
    })
    // If the examination fails, each repository gets a job, which reports the reason.
    const found = await segments.examine(named, stop).catch(() => [])
    for (const [at, { position, repositoryId }] of batch.entries()) {
      const segment = candidates.get(repositoryId)!
      const { fingerprint, bytes, changeToken, storedLength } = found[at] ?? {}
      if (fingerprint !== segment.fingerprint || storedLength !== segment.length) continue
      if (bytes === undefined || !isRecentlyChecked(dependencies, segment)) continue
      const hasNewChangeToken = changeToken !== segment.changeToken
      const exported = { segmentKey: segment.key, reused: true, bytes, startedAt }
      unchanged.set(position, { ...exported, changeToken, hasNewChangeToken })
    }
  })
  return unchanged
}

interface ExportPermissionsDependencies {
  db: Db
  source: Source
  now: () => number
  /** Updates the permissions of accounts from the forge. Undefined if no forge is configured. */
  permissionsRefresher: PermissionsRefresher | undefined
}

/**
 * Updates the permissions of the migration's owner from the forge and, if `position` is given, the metadata of the repository at
 * that position of the migration. Every job that reads repositories calls this first. Does nothing if no forge is configured.
 * Throws RetryLater if the forge is unavailable, and PermanentError if the account was deleted or suspended there: another account
 * may have its login by now.
 */
export async function refreshExportPermissions(
  { db, source, now, permissionsRefresher }: ExportPermissionsDependencies,
  { migrationId, position }: { migrationId: number; position?: number },
): Promise<void> {
  if (!permissionsRefresher) return
  const owner = await migrationOwner(db, migrationId)
  try {
    if (owner) await permissionsRefresher.refresh(owner, RECENT)
    if (position === undefined) return
    const repositories = await repositoriesAt(db, migrationId, [position])
    const names = repositories.map(({ owner, name }) => ({ owner: owner.login, name }))
    await refreshRepositories({ db, source, now }, names, await findByNameAsMap(db, names))
  } catch (error) {
    if (error instanceof AccountRemoved) throw new PermanentError(error.message, { cause: error })
    if (!(error instanceof PermissionsUnavailable)) throw error
    throw new RetryLater(error.message, { cause: error, dueAt: error.retryAt })
  }
}
