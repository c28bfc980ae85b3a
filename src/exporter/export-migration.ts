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
  failLost,
  failSkipped,
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
import { deleteFailedChecks, recordCheck } from '../repositories/check-store.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { HostRequestFailed } from '../sources/host-errors.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { type BeginParts, beginExport, refreshExportRights } from './begin-export.ts'
import { enqueueEach, exportSmallRepositories } from './export-small-repositories.ts'
import type { SegmentProgress } from './make-segment.ts'
import { obtainSegment } from './obtain-segment.ts'
import { isClaimed, ownStoreGuard, retryDuringOutage, StoreNotOwned } from './own-store.ts'
import { markRecordsUsed, recordsForTask } from './records/obtain-records.ts'
import { type SealParts, sealArchive } from './seal-archive.ts'

export interface ExportParts extends BeginParts, SealParts {
  /** A directory for data that does not fit into memory. */
  scratch: string
}

/** Handles the jobs of a migration in this order: begin, then records and git data of each repository, then seal. */
export function exportHandlers(parts: ExportParts): Handlers {
  const ofMigration: Omit<Handler, 'run'> = {
    // Housekeeping releases the locks at the source, because this runs in a transaction.
    onGiveUp: async (tx, job, reason) => {
      await endAsFailed(parts, tx, (job.payload as MigrationJob).migrationId, reason)
    },
    afterGiveUp: (job, reason) =>
      logOutcome(parts, (job.payload as MigrationJob).migrationId, reason),
  }
  const ofRepository: Omit<Handler, 'run'> = {
    onGiveUp: (tx, job, reason) => endRepository(parts, tx, job.payload as ExportTask, { reason }),
    afterGiveUp: (job, reason) => logNotExported(parts, job.payload as ExportTask, reason),
  }
  const whileOwned = ownStoreGuard(parts.db, parts.blobs)
  const writesBlobs = (run: Handler['run']) => retryDuringOutage(whileOwned(run))
  return {
    [BEGIN_EXPORT]: {
      run: (job, run) => beginExport(parts, job, run),
      // It fails the whole migration, and after some failures it examines no repository that could end its process.
      retriesLostWorkers: true,
      ...ofMigration,
    },
    [EXPORT_RECORDS]: {
      run: writesBlobs((job, run) => exportRecords(parts, job.payload as ExportTask, run)),
      ...ofRepository,
    },
    [EXPORT_REPOSITORY]: {
      run: writesBlobs((job, run) => exportRepository(parts, job.payload as ExportTask, run)),
      ...ofRepository,
    },
    [EXPORT_SMALL_REPOSITORIES]: {
      run: whileOwned((job, run) => exportSmallRepositories(parts, job, run)),
      onGiveUp: (tx, job) => enqueueEach(parts, tx, job.payload as SmallExportsTask),
    },
    [SEAL_ARCHIVE]: {
      run: writesBlobs((job, run) => seal(parts, job.payload as MigrationJob, run)),
      ...ofMigration,
    },
    [RECONCILE_LOCK]: {
      async run(job, run) {
        await reconcileLock(parts, (job.payload as LockJob).repositoryId)
        await run.finish(async () => {})
      },
      // Housekeeping retries.
      onGiveUp: async () => {},
    },
  }
}

async function exportRecords(parts: ExportParts, task: ExportTask, run: Run): Promise<void> {
  try {
    await refreshExportRights(parts, task)
    await readRecords(parts, task, run)
  } catch (error) {
    if (error instanceof RetryLater && error.dueAt !== undefined) {
      const waiting = { until: error.dueAt, reason: error.message, now: parts.now() }
      await saveRecordsWaiting(parts.db, task, waiting)
    }
    throw error
  }
}

/** Reads the records of a repository from the forge, then enqueues the export of its git data. */
async function readRecords(parts: ExportParts, task: ExportTask, run: Run): Promise<void> {
  const { db, queue, now } = parts
  const { facts, options, since, refusal } = await repositoryToExport(db, task)
  if (refusal !== undefined) return endWithReason(parts, task, run, refusal)
  const startedAt = now()
  try {
    const found = { facts, options, since, startedAt }
    const records = await recordsForTask(parts, task, found, run.signal)
    await run.finish(async (tx) => {
      await markRecordsUsed(tx, records, now())
      await storeRecords(tx, task, records, now())
      if (!options.excludeGitData)
        return queue.enqueue(tx, EXPORT_REPOSITORY, [task], batchOfMigration(task.migrationId))
      const { reused } = records
      return endRepository(parts, tx, task, { ...NO_GIT_DATA, reused, startedAt })
    })
    queue.wake('jobs')
  } catch (error) {
    if (!(error instanceof HostRequestFailed)) throw error
    await endWithReason(parts, task, run, error.message)
  }
}

async function endWithReason(
  parts: ExportParts,
  task: ExportTask,
  run: Run,
  reason: string,
  alsoWrite?: (tx: Db) => Promise<void>,
) {
  await run.finish(async (tx) => {
    await endRepository(parts, tx, task, { reason })
    await alsoWrite?.(tx)
  })
  await logNotExported(parts, task, reason)
}

const NO_GIT_DATA = { segmentKey: null, bytes: 0 }

async function exportRepository(parts: ExportParts, task: ExportTask, run: Run): Promise<void> {
  await refreshExportRights(parts, task)
  const { facts, options, refusal } = await repositoryToExport(parts.db, task)
  if (refusal !== undefined) return endWithReason(parts, task, run, refusal)
  const startedAt = parts.now()
  if (options.excludeGitData) {
    const outcome = { ...NO_GIT_DATA, reused: false, startedAt }
    return run.finish((tx) => endRepository(parts, tx, task, outcome))
  }
  const progress = progressRecorder(parts, task, startedAt)
  try {
    await obtainSegment<void>(
      parts,
      {
        facts,
        transact: run.finish.bind(run),
        onObtained: async (tx, obtained) => {
          // A reused segment does not show that the repository can still be read.
          if (!obtained.reused) await deleteFailedChecks(tx, [fullNameOf(facts)])
          const reused = isFullyReused(obtained, await recordsOf(tx, task))
          await endRepository(parts, tx, task, { ...obtained, reused, startedAt })
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
    const fullName = fullNameOf(facts)
    const reason = error.message.replace(`${fullName}: `, '')
    const check = { fullName, checkedAt: parts.now(), reason }
    await endWithReason(parts, task, run, reason, (tx) => recordCheck(tx, check))
  }
}

/** Writes progress to the database, one write at a time. A failed write does not fail the export. */
function progressRecorder({ db, now }: ExportParts, task: ExportTask, startedAt: number) {
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
  { queue, now }: ExportParts,
  tx: Db,
  task: ExportTask,
  outcome: Outcome,
): Promise<void> {
  const remaining = await recordOutcome(tx, task, outcome, now())
  const { migrationId } = task
  if (remaining === 0)
    await queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }], batchOfMigration(migrationId))
}

async function seal(parts: ExportParts, { migrationId }: MigrationJob, run: Run): Promise<void> {
  const { db, blobs } = parts
  const sealed = await sealArchive(parts, await migrationById(db, migrationId), run.signal)
  if ('lost' in sealed && sealed.lost && !(await isClaimed(db, blobs))) throw new StoreNotOwned()
  const released = await run.finish(async (tx) => {
    if (!('reason' in sealed)) return sealed.record(tx).then(() => [])
    const { reason, lost, dropped = [] } = sealed
    // The next sweep deletes them, unless another archive contains them.
    await markSegmentsUsed(tx, dropped, 0)
    if (lost) {
      const damagedKeys = lost.flatMap(({ segmentKeys }) => segmentKeys)
      await recordDamaged(tx, damagedKeys, parts.now())
      await failLost(tx, migrationId, lost, parts.now())
    } else await failSkipped(tx, migrationId)
    return endAsFailed(parts, tx, migrationId, reason)
  })
  parts.queue.wake()
  await logOutcome(parts, migrationId, 'reason' in sealed ? sealed.reason : null)
  await reconcileLocks(parts, released)
}

/** Returns the ids of the repositories whose locks it released. They must still be unlocked at the source. */
async function endAsFailed(
  parts: ExportParts,
  tx: Db,
  migrationId: number,
  reason: string,
): Promise<number[]> {
  const { state } = await migrationById(tx, migrationId)
  // The migration was cancelled meanwhile.
  if (!unfinishedStates.includes(state)) return []
  await endMigration(parts, tx, migrationId, 'failed', { reason })
  return releaseLocks(tx, migrationId, parts.now())
}
