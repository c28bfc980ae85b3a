import type { Db } from '../db/database.ts'
import {
  type ClaimedJob,
  claimJob,
  countJobs,
  deleteBatch,
  deleteJob,
  insertJobs,
  renewLease,
  returnJob,
} from './embedded-jobs.ts'
import type { Queue } from './queue.ts'
import { defaultTiming, type JobStore, type JobTiming } from './run-job.ts'
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
