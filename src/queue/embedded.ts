import { randomUUID } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { statementBatches } from '../db/statement-batches.ts'
import type { Backlog, Queue, QueueName } from './queue.ts'
import { defaultTiming, type HeldJob, type JobStore, type JobTiming } from './run-job.ts'
import { Workers } from './worker.ts'

export interface EmbeddedQueueOptions extends Partial<Omit<JobTiming, 'keepEveryMs'>> {
  db: Db
  now?: () => number
  /** How long a worker may be silent before its job is given to another. */
  leaseMs?: number
}

/**
 * The time since the start, added to the clock's time at the start: the one process that works on this queue would
 * otherwise lose all its leases when somebody puts the clock forward, and wait for hours when it is put back.
 */
const steadyTime = (): number => Math.floor(performance.timeOrigin + performance.now())

/** Jobs as rows of the same database: no part to run beside it, and enqueueing is part of the caller's transaction. */
export function embeddedQueue({
  db,
  now = steadyTime,
  leaseMs = 30_000,
  ...pace
}: EmbeddedQueueOptions): Queue {
  const store: JobStore<ClaimedJob> = {
    async claim(atMost, line) {
      const jobs: ClaimedJob[] = []
      while (jobs.length < atMost) {
        const job = await claimJob(db, now(), leaseMs, line)
        if (!job) break
        jobs.push(job)
      }
      return jobs
    },
    keep: (job) => renewLease(db, job, now() + leaseMs),
    remove: deleteJob,
    giveBack: (job, { pauseMs, isFailure }) =>
      returnJob(db, job, { failures: job.failures + Number(isFailure), dueAt: now() + pauseMs }),
  }

  const keepEveryMs = leaseMs / 3
  const workers = new Workers({ db, store, pace: { ...defaultTiming, keepEveryMs, ...pace } })

  return {
    enqueue: (tx, kind, payloads, batch, line = 'jobs') =>
      insertJobs(tx, kind, payloads, { batch, line, now: now() }),
    cancel: deleteBatch,
    backlog: () => countJobs(db),
    running: (line) => workers.running(line),
    interrupt: (batch) => workers.interrupt(batch),
    wake: (line) => workers.wake(line),
    work: (handlers, options) => workers.start(handlers, options),
  }
}

/** A job in our hands. The lease is new with every claim: only its holder may touch the job. */
export interface ClaimedJob extends HeldJob {
  lease: string
}

export async function insertJobs(
  tx: Db,
  kind: string,
  payloads: readonly unknown[],
  { batch, line, now }: { batch: string; line: QueueName; now: number },
): Promise<void> {
  const rows = payloads.map((payload) => ({
    kind,
    payload: JSON.stringify(payload),
    failures: 0,
    due_at: now,
    created_at: now,
    lease: null,
    batch,
    line,
  }))
  for (const batch of statementBatches(rows)) {
    await tx.insertInto('jobs').values(batch).execute()
  }
}

/**
 * The job that has been due longest, or undefined. A claimed job is not due again before its lease is over, so there is
 * no other state: a worker that died simply lets the lease run out. A job that is still held when it is due counts that as a
 * failure: otherwise one that kills its process would be tried for ever.
 */
export async function claimJob(
  db: Db,
  now: number,
  leaseMs: number,
  line: QueueName = 'jobs',
): Promise<ClaimedJob | undefined> {
  for (;;) {
    const row = await db
      .selectFrom('jobs')
      .selectAll()
      .where('line', '=', line)
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
    // Someone else was faster: look again.
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

/** False when the job is no longer ours. */
export async function renewLease(
  db: Db,
  { id, lease }: ClaimedJob,
  until: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({ due_at: until })
    .where('id', '=', Number(id))
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function deleteBatch(tx: Db, batch: string): Promise<void> {
  await tx.deleteFrom('jobs').where('batch', '=', batch).execute()
}

/** False when the job is no longer ours. */
export async function deleteJob(tx: Db, { id, lease }: ClaimedJob): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('jobs')
    .where('id', '=', Number(id))
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Gives the job back, to be tried again from `dueAt` on. */
export async function returnJob(
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

/** No delivery waits longer for its next try. */
const LONGEST_PAUSE_MS = 24 * 3_600_000

/**
 * Releases the jobs that dead workers held, for a process that knows it is alone: each counts that as a failure. Exports that
 * wait are due as well, whatever clock set their time. Deliveries go on waiting: there may be many, and their events know the
 * time of the next try.
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
    .where((job) => job.or([job('line', '=', 'jobs'), job('due_at', '>', now + LONGEST_PAUSE_MS)]))
    .execute()
}

export async function countJobs(db: Db): Promise<Backlog[]> {
  return db
    .selectFrom('jobs')
    .select(['kind', (of) => of.fn.countAll<number>().as('jobs')])
    .select((of) => of.fn.min('created_at').as('oldest'))
    .groupBy('kind')
    .execute()
}
