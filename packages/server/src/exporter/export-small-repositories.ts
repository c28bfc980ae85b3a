import { randomUUID } from 'node:crypto'
import { batchesOf } from '@godwit/lib/chunks'
import { mapConcurrent } from '@godwit/lib/turns'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { repositoriesToExport } from '../migrations/export-store.ts'
import {
  batchOfMigration,
  EXPORT_REPOSITORY,
  EXPORT_SMALL_REPOSITORIES,
  type ExportTask,
  SEAL_ARCHIVE,
  type SmallExportsTask,
} from '../migrations/migration.ts'
import { recordExported, recordProgress } from '../migrations/outcome-store.ts'
import { findSegments, fingerprintsOf, insertSegments } from '../migrations/segment-store.ts'
import type { Job, Queue, Run } from '../queue/queue.ts'
import { deleteFailedChecks } from '../repositories/repository-check-store.ts'
import { fullNameOf, type RepositoryMetadata } from '../repositories/repository-metadata.ts'
import type { MadeSegment, SegmentMaker } from './make-segment.ts'

interface GroupExportDependencies {
  db: Db
  blobs: BlobStore
  queue: Queue
  segments: SegmentMaker
  now: () => number
  /** Undefined if no forge is configured. */
  permissionsRefresher: object | undefined
}

/** The size in the repository index decides. It may be wrong: then a job takes longer. */
const MAX_SMALL_BYTES = 256 * 1024
const MAX_PER_JOB = 32
/** Fewer jobs would leave workers idle at the end of a migration. */
const MIN_JOBS = 8

/** Enqueues the exports of repositories. Small ones share jobs, because the transactions of a job take longer than a small export. */
export async function enqueueExports(
  queue: Queue,
  tx: Db,
  migrationId: number,
  repositories: readonly { position: number; bytes: number }[],
): Promise<void> {
  const isSmall = ({ bytes }: { bytes: number }) => bytes <= MAX_SMALL_BYTES
  const small = repositories.filter(isSmall).map(({ position }) => position)
  const perJob = Math.min(Math.ceil(small.length / MIN_JOBS), MAX_PER_JOB)
  const single = perJob > 1 ? repositories.filter((each) => !isSmall(each)) : repositories
  const positions = single.map(({ position }) => position)
  await enqueueEach({ queue }, tx, { migrationId, positions })
  if (perJob < 2) return
  const tasks = [...batchesOf(small, perJob)].map((positions) => ({ migrationId, positions }))
  await queue.enqueue(tx, EXPORT_SMALL_REPOSITORIES, tasks, batchOfMigration(migrationId))
}

/** Enqueues a job of its own for each of the repositories. */
export async function enqueueEach(
  { queue }: Pick<GroupExportDependencies, 'queue'>,
  tx: Db,
  { migrationId, positions }: SmallExportsTask,
): Promise<void> {
  if (positions.length === 0) return
  const tasks = positions.map((position): ExportTask => ({ migrationId, position }))
  await queue.enqueue(tx, EXPORT_REPOSITORY, tasks, batchOfMigration(migrationId))
}

interface MadeExport {
  position: number
  metadata: RepositoryMetadata
  segment: MadeSegment
  bytes: number
  startedAt: number
  finishedAt: number
}

const CONCURRENCY = 4

/**
 * Makes new segments of repositories and records all of them in one transaction. Repositories that need anything else get a job of their
 * own: those that have not changed, that may no longer be exported, or that cannot be read. So do all after a failure, because
 * it is not known which of them caused it, and all if a forge was configured meanwhile.
 */
export async function exportSmallRepositories(
  dependencies: GroupExportDependencies,
  { payload, failures }: Job,
  run: Run,
): Promise<void> {
  const { db, blobs, queue, now } = dependencies
  const task = payload as SmallExportsTask
  const { migrationId, positions } = task
  if (failures > 0 || dependencies.permissionsRefresher)
    return run.finish((tx) => enqueueEach(dependencies, tx, task))
  const made = await makeSegments(dependencies, task, run.signal)
  const stored = await findSegments(
    db,
    made.map(({ segment }) => segment.fingerprint),
  )
  const fresh = made.filter(({ segment }) => !stored.has(segment.fingerprint))
  const ended = new Set(fresh.map(({ position }) => position))
  const unused = new Set(made.map(({ segment }) => segment.key))
  await run.finish(async (tx) => {
    const others = positions.filter((position) => !ended.has(position))
    await enqueueEach(dependencies, tx, { migrationId, positions: others })
    if (fresh.length === 0) return
    const segments = fresh.map(({ segment, metadata }) => ({
      ...segment,
      repositoryId: metadata.id,
    }))
    const keys = await insertSegments(tx, segments, now())
    for (const key of keys) unused.delete(key)
    await deleteFailedChecks(
      tx,
      fresh.map(({ metadata }) => fullNameOf(metadata)),
    )
    const exported = fresh.map((each, at) => ({ ...each, segmentKey: keys[at]!, reused: false }))
    const remaining = await recordExported(tx, migrationId, exported, now())
    if (remaining === 0)
      await queue.enqueue(tx, SEAL_ARCHIVE, [{ migrationId }], batchOfMigration(migrationId))
  })
  queue.wake('jobs')
  for (const key of unused) await blobs.delete(key)
}

/** Returns the repositories whose segments could be made, in the order in which they ended. */
async function makeSegments(
  { db, segments, now }: GroupExportDependencies,
  { migrationId, positions }: SmallExportsTask,
  signal: AbortSignal,
): Promise<MadeExport[]> {
  const { repositories } = await repositoriesToExport(db, migrationId, positions)
  const storedFingerprints = await fingerprintsOf(
    db,
    repositories.map(({ metadata }) => metadata.id),
  )
  const made: MadeExport[] = []
  const limits = { concurrency: CONCURRENCY, signal }
  await mapConcurrent(repositories, limits, async ({ metadata, refusal }, stop, at) => {
    if (refusal !== undefined) return
    const position = positions[at]!
    const startedAt = now()
    const options = {
      repository: { owner: metadata.owner.login, name: metadata.name },
      key: randomUUID(),
      lastVerified: undefined,
      storedFingerprints,
      mayBeInMemory: true,
      // In the progress of the migration, one repository stands for all of the job.
      reportsProgress: at === 0,
    }
    try {
      const { segment, bytes } = await segments.make(options, stop, (progress) => {
        const written = { ...progress, startedAt, now: now() }
        recordProgress(db, { migrationId, position }, written).catch(() => {})
      })
      if (segment) made.push({ position, metadata, segment, bytes, startedAt, finishedAt: now() })
    } catch {
      // Its own job reports the reason, or retries.
      stop.throwIfAborted()
    }
  })
  return made
}
