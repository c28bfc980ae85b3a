import { randomUUID } from 'node:crypto'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/connect.ts'
import {
  BEGIN_EXPORT,
  EXPORT_REPOSITORY,
  type MigrationJob,
  SEAL_ARCHIVE,
} from '../migrations/export-jobs.ts'
import {
  type ExportTask,
  migrationToExport,
  moveMigration,
  noteOutcome,
  type Outcome,
  repositoryToExport,
} from '../migrations/export-store.ts'
import { releaseLocks } from '../migrations/lock-store.ts'
import { settleLocksOf, settleReleasedLocks } from '../migrations/locks.ts'
import {
  findSegment,
  insertSegment,
  lastVerified,
  nameSegment,
} from '../migrations/segment-store.ts'
import { type Handlers, Hopeless, type Job, type Queue, type Run } from '../queue/queue.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { type Source, Unreadable } from '../sources/source.ts'
import { type SealParts, sealArchive } from './seal-archive.ts'
import type { SegmentMaker } from './segment-maker.ts'

export interface ExportParts extends SealParts {
  db: Db
  queue: Queue
  source: Source
  blobs: BlobStore
  segments: SegmentMaker
  now: () => number
}

/** From pending to exported, in three kinds of job: begin, one for each repository, and seal. */
export function exportHandlers(parts: ExportParts): Handlers {
  const failMigration = (tx: Db, job: Job, reason: string) =>
    endAsFailed(parts, tx, (job.payload as MigrationJob).migrationId, reason)
  return {
    [BEGIN_EXPORT]: {
      run: (job, run) => beginExport(parts, job.payload as MigrationJob, run),
      gaveUp: failMigration,
    },
    [EXPORT_REPOSITORY]: {
      run: (job, run) => exportRepository(parts, job.payload as ExportTask, run),
      gaveUp: (tx, job, reason) => endRepository(parts, tx, job.payload as ExportTask, { reason }),
    },
    [SEAL_ARCHIVE]: {
      run: (job, run) => seal(parts, job.payload as MigrationJob, run),
      gaveUp: failMigration,
    },
  }
}

async function beginExport(parts: ExportParts, { migrationId }: MigrationJob, run: Run) {
  const { db, queue, now } = parts
  const migration = await migrationToExport(db, migrationId)
  await settleLocksOf(parts, migrationId).catch((error: unknown) => {
    throw error instanceof Unreadable ? new Hopeless(`cannot be locked: ${error.message}`) : error
  })
  await run.finish(async (tx) => {
    await moveMigration(tx, migrationId, 'exporting', { now: now() })
    const { excludeGitData } = migration.options
    if (excludeGitData || migration.repositoryCount === 0) {
      return queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }])
    }
    const tasks: ExportTask[] = Array.from(
      { length: migration.repositoryCount },
      (_, position) => ({
        migrationId,
        position,
      }),
    )
    return queue.enqueue(tx, EXPORT_REPOSITORY, tasks)
  })
}

async function exportRepository(parts: ExportParts, task: ExportTask, run: Run): Promise<void> {
  const facts = await repositoryToExport(parts.db, task)
  const repository = { owner: facts.owner.login, name: facts.name }
  try {
    const fingerprint = await parts.segments.fingerprint(repository, run.signal)
    if (!(await reuseSegment(parts, task, fingerprint, run))) {
      await carryRepository(parts, task, facts, run)
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    await run.finish((tx) => endRepository(parts, tx, task, { reason: error.message }))
  }
}

/** An unchanged repository costs this look-up. */
async function reuseSegment(
  parts: ExportParts,
  task: ExportTask,
  fingerprint: string,
  run: Run,
): Promise<boolean> {
  const segmentKey = await findSegment(parts.db, fingerprint)
  if (!segmentKey) return false
  return run.finish(async (tx) => {
    // The sweep may have been here since.
    if (!(await nameSegment(tx, segmentKey, parts.now()))) throw new Error('the segment was swept')
    await endRepository(parts, tx, task, { segmentKey })
    return true
  })
}

/** Segment first, then the row that names it. */
async function carryRepository(
  parts: ExportParts,
  task: ExportTask,
  facts: RepositoryFacts,
  run: Run,
): Promise<void> {
  const made = await parts.segments.make(
    {
      repository: { owner: facts.owner.login, name: facts.name },
      key: randomUUID(),
      lastVerified: await lastVerified(parts.db, facts.id),
    },
    run.signal,
  )
  const segmentKey = await run.finish(async (tx) => {
    const key = await insertSegment(tx, { ...made, repositoryId: facts.id }, parts.now())
    await endRepository(parts, tx, task, { segmentKey: key })
    return key
  })
  if (segmentKey !== made.key) await parts.blobs.delete(made.key)
}

async function endRepository(
  { queue, now }: ExportParts,
  tx: Db,
  task: ExportTask,
  outcome: Outcome,
): Promise<void> {
  const remaining = await noteOutcome(tx, task, outcome, now())
  if (remaining === 0) await queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId: task.migrationId }])
}

async function seal(parts: ExportParts, { migrationId }: MigrationJob, run: Run): Promise<void> {
  const sealed = await sealArchive(
    parts,
    await migrationToExport(parts.db, migrationId),
    run.signal,
  )
  await run.finish((tx) =>
    'reason' in sealed ? endAsFailed(parts, tx, migrationId, sealed.reason) : sealed.record(tx),
  )
  if ('reason' in sealed) await settleReleasedLocks(parts)
}

async function endAsFailed(
  { now }: ExportParts,
  tx: Db,
  migrationId: number,
  reason: string,
): Promise<void> {
  await moveMigration(tx, migrationId, 'failed', { now: now(), reason })
  await releaseLocks(tx, migrationId, now())
}
