import { randomUUID } from 'node:crypto'
import { type Db, statementBatches } from '../db/database.ts'
import type { Queue, QueueName } from './queue.ts'
import { createWorkers, type HeldJob, type JobStore, type WorkerTiming } from './run-jobs.ts'

interface EmbeddedQueueOptions extends Partial<Omit<WorkerTiming, 'renewIntervalMs'>> {
  db: Db
  now?: () => number
  /** How long a worker may fail to renew its lease before another worker gets the job. */
  leaseMs?: number
}

/**
 * The clock's time when the process started, plus the time since then. If the clock is set, the one process that works on
 * this queue neither loses its leases nor waits for hours.
 */
const steadyTime = (): number => Math.floor(performance.timeOrigin + performance.now())

/** Stores jobs in the same database, so enqueueing is part of the caller's transaction. For one process. */
export function embeddedQueue({
  db,
  now = steadyTime,
  leaseMs = 30_000,
  ...timing
}: EmbeddedQueueOptions): Queue {
  return {
    ...createWorkers({
      db,
      store: embeddedJobs(db, now, leaseMs),
      timing: { renewIntervalMs: leaseMs / 3, ...timing },
    }),
    async enqueue(tx, kind, payloads, batch, queue = 'jobs') {
      const at = now()
      const rows = payloads.map((payload) => ({
        kind,
        payload: JSON.stringify(payload),
        failures: 0,
        due_at: at,
        created_at: at,
        lease: null,
        batch,
        queue,
      }))
      for (const batch of statementBatches(rows))
        await tx.insertInto('jobs').values(batch).execute()
    },
    async cancel(tx, batch) {
      await tx.deleteFrom('jobs').where('batch', '=', batch).execute()
    },
    backlog: () =>
      db
        .selectFrom('jobs')
        .select(['kind', (eb) => eb.fn.countAll<number>().as('jobs')])
        .select((eb) => eb.fn.min('created_at').as('oldest'))
        .groupBy('kind')
        .execute(),
  }
}

/** Every claim sets a new lease. Only its holder may change the job. */
interface ClaimedJob extends HeldJob {
  lease: string
}

function embeddedJobs(db: Db, now: () => number, leaseMs: number): JobStore<ClaimedJob> {
  return {
    async claim(atMost, queue, running) {
      const jobs: ClaimedJob[] = []
      const except = [...running].map(({ id }) => Number(id))
      while (jobs.length < atMost) {
        const job = await claimJob(db, now(), leaseMs, { queue, except }).catch(
          (error: unknown) => {
            // The jobs that are claimed already must run. The next claim reports the error.
            if (jobs.length === 0) throw error
          },
        )
        if (!job) break
        jobs.push(job)
      }
      return jobs
    },

    async renew({ id, lease }) {
      const { numUpdatedRows } = await db
        .updateTable('jobs')
        .set({ due_at: now() + leaseMs })
        .where((job) => job.and({ id: Number(id), lease }))
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },

    async remove(tx, { id, lease }) {
      const { numDeletedRows } = await tx
        .deleteFrom('jobs')
        .where((job) => job.and({ id: Number(id), lease }))
        .executeTakeFirst()
      return numDeletedRows === 1n
    },

    async returnToQueue({ id, lease, failures }, { pauseMs, isFailure }) {
      await db
        .updateTable('jobs')
        .set({ lease: null, due_at: now() + pauseMs, failures: failures + Number(isFailure) })
        .where((job) => job.and({ id: Number(id), lease }))
        .execute()
    },
  }
}

/**
 * Claims the job that has been due longest. Returns undefined if none is due. A claimed job is due again when its lease expires,
 * so no other state is needed for workers that died. A job that is due while it still has a lease counts a failure: otherwise a
 * job that kills its process would be retried for ever. The jobs `except` still run in this worker: their leases expired while it
 * was suspended, and are renewed next.
 *
 * These leases are not in `db/lease-store.ts`, because jobs are found by the time at which their lease expires, and a claim counts
 * failures in the same statement.
 */
export async function claimJob(
  db: Db,
  now: number,
  leaseMs: number,
  { queue = 'jobs', except = [] }: { queue?: QueueName; except?: readonly number[] } = {},
): Promise<ClaimedJob | undefined> {
  for (;;) {
    const row = await db
      .selectFrom('jobs')
      .selectAll()
      .where('queue', '=', queue)
      .where('due_at', '<=', now)
      .$if(except.length > 0, (due) => due.where('id', 'not in', except))
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
    const { kind, batch } = row
    const payload = JSON.parse(row.payload)
    return { id: String(row.id), kind, payload, batch: batch ?? '', failures, lease }
  }
}

/** The longest pause before the next attempt of a webhook delivery. */
const MAX_PAUSE_MS = 24 * 3_600_000

/**
 * Releases the jobs that dead workers held, and counts a failure for each. The only process must call it when it starts. Waiting
 * exports become due as well, because the clock may have been wrong when their time was set. Deliveries of webhooks keep waiting:
 * there may be many, and each event stores the time of its next attempt.
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
