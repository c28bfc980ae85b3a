import { Unreadable } from '@godwit/git/unreadable'
import { HostRequestFailed } from '@godwit/hosts/host-errors'
import type { Db } from '../db/database.ts'
import { endMigration, logNotExported, logOutcome } from '../migrations/end-migration.ts'
import { migrationById, repositoryToExport } from '../migrations/export-store.ts'
import { releaseLocks } from '../migrations/lock-store.ts'
import { reconcileLock, reconcileLocks } from '../migrations/locks.ts'
import {
  BEGIN_EXPORT,
  batchOfMigration,
  EXPORT_RECORDS,
  EXPORT_REPOSITORY,
  EXPORT_SMALL_REPOSITORIES,
  type ExportTask,
  type LockJob,
  type MigrationJob,
  RECONCILE_LOCK,
  SEAL_ARCHIVE,
  type SmallExportsTask,
  unfinishedStates,
} from '../migrations/migration.ts'
import {
  failSkipped,
  failWithMissingBlobs,
  type Outcome,
  recordOutcome,
  recordProgress,
} from '../migrations/outcome-store.ts'
import {
  isFullyReused,
  recordsOf,
  saveRecordsWaiting,
  storeRecords,
} from '../migrations/outcomes.ts'
import { recordDamaged } from '../migrations/segment-check-store.ts'
import { markSegmentsUsed } from '../migrations/segment-store.ts'
import { type Handler, type Handlers, RetryLater, type Run } from '../queue/queue.ts'
import { deleteFailedChecks, recordCheck } from '../repositories/repository-check-store.ts'
import { fullNameOf } from '../repositories/repository-metadata.ts'
import { type BeginDependencies, beginExport, refreshExportPermissions } from './begin-export.ts'
import { isClaimed, retryDuringOutage, StoreNotOwned, storeOwnerGuard } from './blob-store-owner.ts'
import { enqueueEach, exportSmallRepositories } from './export-small-repositories.ts'
import type { SegmentProgress } from './make-segment.ts'
import { obtainSegment } from './obtain-segment.ts'
import { markRecordsUsed, recordsForTask } from './records/obtain-records.ts'
import { type SealDependencies, sealArchive } from './seal-archive.ts'

export interface ExportDependencies extends BeginDependencies, SealDependencies {
  /** A directory for data that does not fit into memory. */
  scratch: string
}

/** Handles the jobs of a migration in this order: begin, then records and git data of each repository, then seal. */
export function exportHandlers(dependencies: ExportDependencies): Handlers {
  const ofMigration: Omit<Handler, 'run'> = {
    // Housekeeping releases the locks at the source, because this runs in a transaction.
    onGiveUp: async (tx, job, reason) => {
      await endAsFailed(dependencies, tx, (job.payload as MigrationJob).migrationId, reason)
    },
    afterGiveUp: (job, reason) =>
      logOutcome(dependencies, (job.payload as MigrationJob).migrationId, reason),
  }
  const ofRepository: Omit<Handler, 'run'> = {
    onGiveUp: (tx, job, reason) =>
      endRepository(dependencies, tx, job.payload as ExportTask, { reason }),
    afterGiveUp: (job, reason) => logNotExported(dependencies, job.payload as ExportTask, reason),
  }
  const whileOwned = storeOwnerGuard(dependencies.db, dependencies.blobs)
  const writesBlobs = (run: Handler['run']) => retryDuringOutage(whileOwned(run))
  return {
    [BEGIN_EXPORT]: {
      run: (job, run) => beginExport(dependencies, job, run),
      // It fails the whole migration, and after some failures it examines no repository that could end its process.
      retriesAfterWorkerDeath: true,
      ...ofMigration,
    },
    [EXPORT_RECORDS]: {
      run: writesBlobs((job, run) => exportRecords(dependencies, job.payload as ExportTask, run)),
      ...ofRepository,
    },
    [EXPORT_REPOSITORY]: {
      run: writesBlobs((job, run) =>
        exportRepository(dependencies, job.payload as ExportTask, run),
      ),
      ...ofRepository,
    },
    [EXPORT_SMALL_REPOSITORIES]: {
      run: whileOwned((job, run) => exportSmallRepositories(dependencies, job, run)),
      onGiveUp: (tx, job) => enqueueEach(dependencies, tx, job.payload as SmallExportsTask),
    },
    [SEAL_ARCHIVE]: {
      run: writesBlobs((job, run) => seal(dependencies, job.payload as MigrationJob, run)),
      ...ofMigration,
    },
    [RECONCILE_LOCK]: {
      async run(job, run) {
        await reconcileLock(dependencies, (job.payload as LockJob).repositoryId)
        await run.finish(async () => {})
      },
      // Housekeeping retries.
      onGiveUp: async () => {},
    },
  }
}

async function exportRecords(
  dependencies: ExportDependencies,
  task: ExportTask,
  run: Run,
): Promise<void> {
  try {
    await refreshExportPermissions(dependencies, task)
    await readRecords(dependencies, task, run)
  } catch (error) {
    if (error instanceof RetryLater && error.dueAt !== undefined) {
      const waiting = { until: error.dueAt, reason: error.message, now: dependencies.now() }
      await saveRecordsWaiting(dependencies.db, task, waiting)
    }
    throw error
  }
}

/** Reads the records of a repository from the forge, then enqueues the export of its git data. */
async function readRecords(
  dependencies: ExportDependencies,
  task: ExportTask,
  run: Run,
): Promise<void> {
  const { db, queue, now } = dependencies
  const { metadata, options, since, refusal } = await repositoryToExport(db, task)
  if (refusal !== undefined) return endWithReason(dependencies, task, run, refusal)
  const startedAt = now()
  try {
    const found = { metadata, options, since, startedAt }
    const records = await recordsForTask(dependencies, task, found, run.signal)
    await run.finish(async (tx) => {
      await markRecordsUsed(tx, records, now())
      await storeRecords(tx, task, records, now())
      if (!options.excludeGitData)
        return queue.enqueue(tx, EXPORT_REPOSITORY, [task], batchOfMigration(task.migrationId))
      const { reused } = records
      return endRepository(dependencies, tx, task, { ...NO_GIT_DATA, reused, startedAt })
    })
    queue.wake('jobs')
  } catch (error) {
    if (!(error instanceof HostRequestFailed)) throw error
    await endWithReason(dependencies, task, run, error.message)
  }
}

async function endWithReason(
  dependencies: ExportDependencies,
  task: ExportTask,
  run: Run,
  reason: string,
  alsoWrite?: (tx: Db) => Promise<void>,
) {
  await run.finish(async (tx) => {
    await endRepository(dependencies, tx, task, { reason })
    await alsoWrite?.(tx)
  })
  await logNotExported(dependencies, task, reason)
}

const NO_GIT_DATA = { segmentKey: null, bytes: 0 }

async function exportRepository(
  dependencies: ExportDependencies,
  task: ExportTask,
  run: Run,
): Promise<void> {
  await refreshExportPermissions(dependencies, task)
  const { metadata, options, refusal } = await repositoryToExport(dependencies.db, task)
  if (refusal !== undefined) return endWithReason(dependencies, task, run, refusal)
  const startedAt = dependencies.now()
  if (options.excludeGitData) {
    const outcome = { ...NO_GIT_DATA, reused: false, startedAt }
    return run.finish((tx) => endRepository(dependencies, tx, task, outcome))
  }
  const progress = progressRecorder(dependencies, task, startedAt)
  try {
    await obtainSegment<void>(
      dependencies,
      {
        metadata,
        transact: run.finish.bind(run),
        onObtained: async (tx, obtained) => {
          // A reused segment does not show that the repository can still be read.
          if (!obtained.reused) await deleteFailedChecks(tx, [fullNameOf(metadata)])
          const reused = isFullyReused(obtained, await recordsOf(tx, task))
          await endRepository(dependencies, tx, task, { ...obtained, reused, startedAt })
        },
        onProgress: progress.record,
      },
      run.signal,
    )
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // A retry estimates its size with the fingerprint, which cannot be written after the outcome.
    await progress.lastWrite()
    // Reasons are shown beside the repository's name, so they do not repeat it.
    const fullName = fullNameOf(metadata)
    const reason = error.message.replace(`${fullName}: `, '')
    const check = { fullName, checkedAt: dependencies.now(), reason }
    await endWithReason(dependencies, task, run, reason, (tx) => recordCheck(tx, check))
  }
}

/** Writes progress to the database, one write at a time. A failed write does not fail the export. */
function progressRecorder({ db, now }: ExportDependencies, task: ExportTask, startedAt: number) {
  let writing: Promise<void> | undefined
  return {
    record(progress: SegmentProgress): void {
      writing ??= recordProgress(db, task, { ...progress, startedAt, now: now() })
        .catch(() => {})
        .finally(() => {
          writing = undefined
        })
    },
    lastWrite: async () => writing,
  }
}

async function endRepository(
  { queue, now }: ExportDependencies,
  tx: Db,
  task: ExportTask,
  outcome: Outcome,
): Promise<void> {
  const remaining = await recordOutcome(tx, task, outcome, now())
  const { migrationId } = task
  if (remaining === 0)
    await queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }], batchOfMigration(migrationId))
}

async function seal(
  dependencies: ExportDependencies,
  { migrationId }: MigrationJob,
  run: Run,
): Promise<void> {
  const { db, blobs } = dependencies
  const sealed = await sealArchive(dependencies, await migrationById(db, migrationId), run.signal)
  if ('missing' in sealed && sealed.missing && !(await isClaimed(db, blobs)))
    throw new StoreNotOwned()
  const released = await run.finish(async (tx) => {
    if (!('reason' in sealed)) return sealed.record(tx).then(() => [])
    const { reason, missing, dropped = [] } = sealed
    // The next sweep deletes them, unless another archive contains them.
    await markSegmentsUsed(tx, dropped, 0)
    if (missing) {
      const damagedKeys = missing.flatMap(({ segmentKeys }) => segmentKeys)
      await recordDamaged(tx, damagedKeys, dependencies.now())
      await failWithMissingBlobs(tx, migrationId, missing, dependencies.now())
    } else await failSkipped(tx, migrationId)
    return endAsFailed(dependencies, tx, migrationId, reason)
  })
  dependencies.queue.wake()
  await logOutcome(dependencies, migrationId, 'reason' in sealed ? sealed.reason : null)
  await reconcileLocks(dependencies, released)
}

/** Returns the ids of the repositories whose locks it released. They must still be unlocked at the source. */
async function endAsFailed(
  dependencies: ExportDependencies,
  tx: Db,
  migrationId: number,
  reason: string,
): Promise<number[]> {
  const { state } = await migrationById(tx, migrationId)
  // The migration was cancelled meanwhile.
  if (!unfinishedStates.includes(state)) return []
  await endMigration(dependencies, tx, migrationId, 'failed', { reason })
  return releaseLocks(tx, migrationId, dependencies.now())
}
