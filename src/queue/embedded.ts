import { randomUUID } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { statementBatches } from '../db/statement-batches.ts'
import type { Backlog, Queue, QueueName } from './queue.ts'
import { defaultTiming, type HeldJob, type JobStore, type JobTiming } from './run-job.ts'
import { Workers } from './worker.ts'

export interface EmbeddedQueueOptions extends Partial<Omit<JobTiming, 'renewIntervalMs'>> {
  db: Db
  now?: () => number
  /** How long a worker may fail to renew its lease before another worker gets the job. */
  leaseMs?: number
}

/**
 * The time since the start of the process, added to the clock's time at the start. If somebody sets the clock, the one process that
 * works on this queue neither loses its leases nor waits for hours.
 */
const steadyTime = (): number => Math.floor(performance.timeOrigin + performance.now())

/** Stores jobs in the same database, so enqueueing is part of the caller's transaction. For one process. */
export function embeddedQueue({
  db,
  now = steadyTime,
  leaseMs = 30_000,
  ...timing
}: EmbeddedQueueOptions): Queue {
  const store: JobStore<ClaimedJob> = {
    async claim(atMost, queue) {
      const jobs: ClaimedJob[] = []
      while (jobs.length < atMost) {
        const job = await claimJob(db, now(), leaseMs, queue)
        if (!job) break
        jobs.push(job)
      }
      return jobs
    },
    renew: (job) => renewLease(db, job, now() + leaseMs),
    remove: deleteJob,
    returnToQueue: (job, { pauseMs, isFailure }) =>
      returnJob(db, job, { failures: job.failures + Number(isFailure), dueAt: now() + pauseMs }),
  }

  const renewIntervalMs = leaseMs / 3
  const workers = new Workers({
    db,
    store,
    timing: { ...defaultTiming, renewIntervalMs, ...timing },
  })

  return {
    enqueue: (tx, kind, payloads, batch, queue = 'jobs') =>
      insertJobs(tx, kind, payloads, { batch, queue, now: now() }),
    cancel: deleteBatch,
    backlog: () => countJobs(db),
    running: (queue) => workers.running(queue),
    interrupt: (batch) => workers.interrupt(batch),
    wake: (queue) => workers.wake(queue),
    work: (handlers, options) => workers.start(handlers, options),
  }
}

/** The lease is new with every claim: only its holder may change the job. */
interface ClaimedJob extends HeldJob {
  lease: string
}

async function insertJobs(
  tx: Db,
  kind: string,
  payloads: readonly unknown[],
  { batch, queue, now }: { batch: string; queue: QueueName; now: number },
): Promise<void> {
  const rows = payloads.map((payload) => ({
    kind,
    payload: JSON.stringify(payload),
    failures: 0,
    due_at: now,
    created_at: now,
    lease: null,
    batch,
    queue,
  }))
  for (const some of statementBatches(rows)) await tx.insertInto('jobs').values(some).execute()
}

/**
 * Claims the job that has been due longest, if there is one. A claimed job is due again when its lease expires, so a worker that
 * died needs no other state. A job that is due while it is still held counts a failure: otherwise a job that kills its process
 * would be retried for ever.
 *
 * These leases are not in `db/lease-store.ts`: the time of expiry is also the time by which jobs are found, and a claim counts
 * failures in the same statement.
 */
export async function claimJob(
  db: Db,
  now: number,
  leaseMs: number,
  queue: QueueName = 'jobs',
): Promise<ClaimedJob | undefined> {
  for (;;) {
    const row = await db
      .selectFrom('jobs')
      .selectAll()
      .where('queue', '=', queue)
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (!row) return undefined
    const lease = randomUUID()
    const failures = row.failures + (row.lease === null ? 0 : 1)
    const { numUpdatedRows } = await db
      .updateTable('jobs')
      .set({ lease, due_at: now + leaseMs, failures })
      .where('id', '=', row.id)
      .where('due_at', '=', row.due_at)
      .executeTakeFirst()
    // Another worker claimed the job first.
    if (numUpdatedRows === 0n) continue
    const { id, kind, batch } = row
    return {
      id: String(id),
      kind,
      failures,
      batch: batch ?? '',
      payload: JSON.parse(row.payload),
      lease,
    }
  }
}

/** Returns false if another worker has taken over the job. */
async function renewLease(db: Db, { id, lease }: ClaimedJob, until: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({ due_at: until })
    .where('id', '=', Number(id))
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function deleteBatch(tx: Db, batch: string): Promise<void> {
  await tx.deleteFrom('jobs').where('batch', '=', batch).execute()
}

/** Returns false if another worker has taken over the job. */
async function deleteJob(tx: Db, { id, lease }: ClaimedJob): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('jobs')
    .where('id', '=', Number(id))
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Releases the job, to be claimed again from `dueAt` on. */
async function returnJob(
  db: Db,
  { id, lease }: ClaimedJob,
  { failures, dueAt }: { failures: number; dueAt: number },
): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ lease: null, due_at: dueAt, failures })
    .where('id', '=', Number(id))
    .where('lease', '=', lease)
    .execute()
}

/** No delivery of a webhook waits longer for its next attempt. */
const MAX_PAUSE_MS = 24 * 3_600_000

/**
 * Releases the jobs that dead workers held. To be called by the only process, at its start. Each job counts a failure. Waiting
 * exports become due as well, because the clock may have been wrong when their time was set. Deliveries of webhooks keep waiting:
 * there may be many, and their events know the time of the next attempt.
 */
export async function releaseAllJobs(db: Db, now: number): Promise<void> {
  await db
    .updateTable('jobs')
    .set((job) => ({ lease: null, due_at: now, failures: job('failures', '+', 1) }))
    .where('lease', 'is not', null)
    .execute()
  await db
    .updateTable('jobs')
    .set({ due_at: now })
    .where('due_at', '>', now)
    .where((job) => job.or([job('queue', '=', 'jobs'), job('due_at', '>', now + MAX_PAUSE_MS)]))
    .execute()
}

async function countJobs(db: Db): Promise<Backlog[]> {
  return db
    .selectFrom('jobs')
    .select(['kind', (of) => of.fn.countAll<number>().as('jobs')])
    .select((of) => of.fn.min('created_at').as('oldest'))
    .groupBy('kind')
    .execute()
}
