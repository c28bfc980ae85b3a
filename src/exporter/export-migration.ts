import { type BlobStore, BlobsUnavailable } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { endMigration } from '../migrations/end-migration.ts'
import {
  BEGIN_EXPORT,
  batchOf,
  EXPORT_RECORDS,
  EXPORT_REPOSITORY,
  type ExportTask,
  type LockJob,
  type MigrationJob,
  SEAL_ARCHIVE,
  SETTLE_LOCK,
} from '../migrations/export-jobs.ts'
import { migrationToExport, moveMigration, repositoryToExport } from '../migrations/export-store.ts'
import { releaseLocks } from '../migrations/lock-store.ts'
import { settleLock, settleLocks, settleLocksOf } from '../migrations/locks.ts'
import { logNotExported, logOutcome, type OutcomeLog } from '../migrations/log-outcome.ts'
import type { Migration } from '../migrations/migration.ts'
import {
  failLost,
  failSkipped,
  type LostRepository,
  type Outcome,
  recordOutcome,
  recordProgress,
  recordReused,
} from '../migrations/outcome-store.ts'
import { outcomesOf } from '../migrations/outcomes.ts'
import { isWhollyReused, recordsOf, storeRecords } from '../migrations/record-store.ts'
import { noteDamaged } from '../migrations/segment-check-store.ts'
import { nameSegments } from '../migrations/segment-store.ts'
import { repositoriesOf } from '../migrations/snapshot-store.ts'
import { unfinishedStates } from '../migrations/states.ts'
import {
  type Handler,
  type Handlers,
  PermanentError,
  type Queue,
  RetryLater,
  type Run,
} from '../queue/queue.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { readableAmong } from '../repositories/readable-repositories.ts'
import { ForgeRefused } from '../sources/forge-errors.ts'
import type { Source } from '../sources/source.ts'
import { Busy, Unreadable } from '../sources/unreadable.ts'
import type { ReuseParts } from './check-segments.ts'
import { findUnchanged, type PlacedRepository } from './find-unchanged.ts'
import type { SegmentMaker, SegmentProgress } from './make-segment.ts'
import { obtainSegment } from './obtain-segment.ts'
import { nameRecords, recordsForTask } from './records/export-records.ts'
import type { RecordsParts } from './records/obtain-records.ts'
import { type SealParts, sealArchive } from './seal-archive.ts'

export interface ExportParts extends SealParts, ReuseParts {
  db: Db
  queue: Queue
  source: Source
  blobs: BlobStore
  segments: SegmentMaker
  /** Where what does not fit into memory is kept for a while. */
  scratch: string
  /** Where what people said is read, if anywhere. */
  forge: RecordsParts['forge'] | undefined
  log: OutcomeLog
  now: () => number
}

/** From pending to exported: begin, for each repository its records if there is a forge and its git data, and seal. */
export function exportHandlers(parts: ExportParts): Handlers {
  const ofMigration: Omit<Handler, 'run'> = {
    // Its locks are let go of by housekeeping: this is still within a transaction.
    gaveUp: async (tx, job, reason) => {
      await endAsFailed(parts, tx, (job.payload as MigrationJob).migrationId, reason)
    },
    afterGivingUp: (job, reason) =>
      logOutcome(parts, (job.payload as MigrationJob).migrationId, reason),
  }
  const ofRepository: Omit<Handler, 'run'> = {
    gaveUp: (tx, job, reason) => endRepository(parts, tx, job.payload as ExportTask, { reason }),
    afterGivingUp: (job, reason) => logNotExported(parts, job.payload as ExportTask, reason),
  }
  return {
    [BEGIN_EXPORT]: {
      run: (job, run) => beginExport(parts, job.payload as MigrationJob, run),
      ...ofMigration,
    },
    [EXPORT_RECORDS]: {
      run: waitForBlobs((job, run) => exportRecords(parts, job.payload as ExportTask, run)),
      ...ofRepository,
    },
    [EXPORT_REPOSITORY]: {
      run: waitForBlobs((job, run) => exportRepository(parts, job.payload as ExportTask, run)),
      ...ofRepository,
    },
    [SEAL_ARCHIVE]: {
      run: waitForBlobs((job, run) => seal(parts, job.payload as MigrationJob, run)),
      ...ofMigration,
    },
    [SETTLE_LOCK]: {
      async run(job, run) {
        await settleLock(parts, (job.payload as LockJob).repositoryId)
        await run.finish(async () => {})
      },
      // Housekeeping settles whatever is left, again and again.
      gaveUp: async () => {},
    },
  }
}

/** While the store is away its jobs wait: an outage, however long, fails no migration. */
function waitForBlobs(run: Handler['run']): Handler['run'] {
  return async (job, at) => {
    try {
      await run(job, at)
    } catch (error) {
      throw error instanceof BlobsUnavailable
        ? new RetryLater(error.message, { cause: error })
        : error
    }
  }
}

async function beginExport(parts: ExportParts, { migrationId }: MigrationJob, run: Run) {
  const { db, queue, now } = parts
  const migration = await migrationToExport(db, migrationId)
  await settleLocksOf(parts, migrationId).catch((error: unknown) => {
    if (!(error instanceof Unreadable)) throw error
    // Whoever is at work on the config may be done when it is tried again.
    const Failure = error instanceof Busy ? Error : PermanentError
    throw new Failure(`cannot be locked: ${error.message}`, { cause: error })
  })
  const { excludeGitData } = migration.options
  const hasRecords = areRecordsWanted(parts, migration)
  const all = await repositoriesOf(db, migration)
  // What a retry begins without has ended already.
  const skipped = await outcomesOf(db, migration)
  const repositories = all
    .map((facts, position) => ({ facts, position }))
    .filter(({ position }) => !skipped.has(position))
  // With a forge, each is asked about in its job.
  const mayBeReused =
    parts.forge || excludeGitData ? [] : await readableOf(db, migration, repositories)
  const unchanged = await findUnchanged(parts, mayBeReused, run.signal)
  await run.finish(async (tx) => {
    await moveMigration(tx, migrationId, 'exporting', { now: now() })
    // The sweep may have been here since.
    const keys = [...unchanged.values()].map(({ segmentKey }) => segmentKey)
    const named = await nameSegments(tx, keys, now())
    for (const [position, { segmentKey }] of unchanged) {
      if (!named.has(segmentKey)) unchanged.delete(position)
    }
    await recordReused(tx, migrationId, unchanged, now())
    const changed = repositories.filter(({ position }) => !unchanged.has(position))
    const batch = batchOf(migrationId)
    if (changed.length === 0) return queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }], batch)
    // The largest first: begun last, it would be waited for when all others are done.
    const tasks = changed
      .toSorted((a, b) => b.facts.sizeKib - a.facts.sizeKib)
      .map(({ position }): ExportTask => ({ migrationId, position }))
    // Records come first: whatever commit they name is then among the git data.
    return queue.enqueue(tx, hasRecords ? EXPORT_RECORDS : EXPORT_REPOSITORY, tasks, batch)
  })
  for (const [position, { reason }] of skipped)
    await logNotExported(parts, { migrationId, position }, reason ?? '')
}

/** What may not be read any more gets a job like any other, which tells so. */
async function readableOf(db: Db, { owner }: Migration, repositories: readonly PlacedRepository[]) {
  const ids = repositories.map(({ facts }) => facts.id)
  const readable = await readableAmong(db, owner.id, ids)
  return repositories.filter(({ facts }) => readable.has(facts.id))
}

const areRecordsWanted = (
  { forge }: ExportParts,
  { options: { excludeMetadata, orgMetadataOnly } }: Pick<Migration, 'options'>,
): boolean => forge !== undefined && !excludeMetadata && !orgMetadataOnly

async function exportRecords(parts: ExportParts, task: ExportTask, run: Run): Promise<void> {
  const { db, queue, now } = parts
  const { facts, options, refusal } = await repositoryToExport(db, task)
  if (refusal !== undefined) return endWithReason(parts, task, run, refusal)
  const startedAt = now()
  try {
    const records = await recordsForTask(parts, task, { facts, options, startedAt }, run.signal)
    await run.finish(async (tx) => {
      await nameRecords(tx, records, now())
      await storeRecords(tx, task, records, now())
      if (!options.excludeGitData)
        return queue.enqueue(tx, EXPORT_REPOSITORY, [task], batchOf(task.migrationId))
      const { reused } = records
      return endRepository(parts, tx, task, { ...NO_GIT_DATA, reused, startedAt })
    })
    queue.wake('jobs')
  } catch (error) {
    if (!(error instanceof ForgeRefused)) throw error
    await endWithReason(parts, task, run, error.message)
  }
}

async function endWithReason(parts: ExportParts, task: ExportTask, run: Run, reason: string) {
  await run.finish((tx) => endRepository(parts, tx, task, { reason }))
  await logNotExported(parts, task, reason)
}

const NO_GIT_DATA = { segmentKey: null, bytes: 0 }

async function exportRepository(parts: ExportParts, task: ExportTask, run: Run): Promise<void> {
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
        onEnd: async (tx, obtained) => {
          const reused = isWhollyReused(obtained, await recordsOf(tx, task))
          await endRepository(parts, tx, task, { ...obtained, reused, startedAt })
        },
        onProgress: progress.record,
      },
      run.signal,
    )
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // Later, the fingerprint would no longer be stored: a retry compares it.
    await progress.lastWrite()
    // The reason is shown beside the repository's name.
    const reason = error.message.replace(`${fullNameOf(facts)}: `, '')
    await endWithReason(parts, task, run, reason)
  }
}

const PROGRESS_INTERVAL_MS = 500

/** Writes progress to the database, one write at a time and not too often. A failed write does not fail the export. */
function progressRecorder({ db }: ExportParts, task: ExportTask, startedAt: number) {
  let lastWrite: Promise<void> = Promise.resolve()
  let nextAt = 0
  return {
    record({ fingerprint, bytes, bytesDone }: SegmentProgress): void {
      if (performance.now() < nextAt) return
      nextAt = Number.POSITIVE_INFINITY
      lastWrite = recordProgress(db, task, {
        startedAt,
        fingerprint,
        bytesExpected: bytes,
        bytesDone: Math.min(bytesDone, bytes),
      })
        .catch(() => {})
        .finally(() => {
          nextAt = performance.now() + PROGRESS_INTERVAL_MS
        })
    },
    lastWrite: () => lastWrite,
  }
}

async function endRepository(
  { queue, now }: ExportParts,
  tx: Db,
  task: ExportTask,
  outcome: Outcome,
): Promise<void> {
  const remaining = await recordOutcome(tx, task, outcome, now())
  if (remaining > 0) return
  const { migrationId } = task
  await queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }], batchOf(migrationId))
}

async function seal(parts: ExportParts, { migrationId }: MigrationJob, run: Run): Promise<void> {
  const sealed = await sealArchive(
    parts,
    await migrationToExport(parts.db, migrationId),
    run.signal,
  )
  const released = await run.finish(async (tx) => {
    if (!('reason' in sealed)) return sealed.record(tx).then(() => [])
    await noteFailed(parts, tx, migrationId, sealed.lost)
    return endAsFailed(parts, tx, migrationId, sealed.reason)
  })
  parts.queue.wake()
  await logOutcome(parts, migrationId, 'reason' in sealed ? sealed.reason : null)
  await settleLocks(parts, released)
}

/** Which repositories it was that made the migration fail. */
async function noteFailed(
  { now }: ExportParts,
  tx: Db,
  migrationId: number,
  lost: readonly LostRepository[] | undefined,
): Promise<void> {
  if (!lost) return failSkipped(tx, migrationId)
  await noteDamaged(
    tx,
    lost.flatMap(({ segmentKeys }) => segmentKeys),
    now(),
  )
  await failLost(tx, migrationId, lost, now())
}

async function endAsFailed(
  parts: ExportParts,
  tx: Db,
  migrationId: number,
  reason: string,
): Promise<number[]> {
  const { state } = await migrationToExport(tx, migrationId)
  // Ended meanwhile, by a cancel: there is nothing left to end.
  if (!unfinishedStates.includes(state)) return []
  await endMigration(parts, tx, migrationId, 'failed', { reason })
  return releaseLocks(tx, migrationId, parts.now())
}
