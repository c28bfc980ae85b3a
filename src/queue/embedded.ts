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
} from './job-store.ts'
import type { Queue } from './queue.ts'
import { type JobStore, startWorker, type Worker } from './worker.ts'

export interface EmbeddedQueueOptions {
  db: Db
  now?: () => number
  /** How long a worker may be silent before its job is given to another. */
  leaseMs?: number
  /** How long an idle worker waits before it looks again unasked. */
  lookEveryMs?: number
  /** Pause before the second try; it doubles with every further one. */
  firstPauseMs?: number
  /** Pause before a job is tried again that had to wait for something else. */
  notNowPauseMs?: number
  maxFailures?: number
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
  lookEveryMs = 1000,
  firstPauseMs = 1000,
  notNowPauseMs = 5000,
  maxFailures = 5,
}: EmbeddedQueueOptions): Queue {
  const workers = new Set<Worker>()
  const store: JobStore<ClaimedJob> = {
    async claim(atMost) {
      const jobs: ClaimedJob[] = []
      while (jobs.length < atMost) {
        const job = await claimJob(db, now(), leaseMs)
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

  return {
    enqueue: (tx, kind, payloads, batch) => insertJobs(tx, kind, payloads, { batch, now: now() }),
    cancel: deleteBatch,
    backlog: () => countJobs(db),
    running: () => workers.values().reduce((sum, worker) => sum + worker.running(), 0),
    interrupt(batch) {
      for (const worker of workers) worker.interrupt(batch)
    },
    wake() {
      for (const worker of workers) worker.wake()
    },
    work(handlers, options) {
      const keepEveryMs = leaseMs / 3
      const pace = { keepEveryMs, lookEveryMs, firstPauseMs, notNowPauseMs, maxFailures }
      const worker = startWorker(handlers, { ...options, ...pace, db, store })
      workers.add(worker)
      return {
        async stop() {
          await worker.stop()
          workers.delete(worker)
        },
      }
    },
  }
}
