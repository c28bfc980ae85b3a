import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/connect.ts'
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
import {
  type Handlers,
  Hopeless,
  type Job,
  LostJob,
  type Queue,
  type Working,
  type WorkOptions,
} from './queue.ts'

export interface EmbeddedQueueOptions {
  db: Db
  now?: () => number
  /** How long a worker may be silent before its job is given to another. */
  leaseMs?: number
  /** How long an idle worker waits before it looks again unasked. */
  lookEveryMs?: number
  /** Pause before the second try; it doubles with every further one. */
  firstPauseMs?: number
  mostFailures?: number
}

/** Jobs as rows of the same database: no part to run beside it, and enqueueing is part of the caller's transaction. */
export function embeddedQueue({
  db,
  now = Date.now,
  leaseMs = 30_000,
  lookEveryMs = 1000,
  firstPauseMs = 1000,
  mostFailures = 5,
}: EmbeddedQueueOptions): Queue {
  const wakers = new Set<() => void>()
  const underWay = new Map<ClaimedJob, AbortController>()
  const wake = () => {
    for (const waker of wakers) waker()
  }

  function work(handlers: Handlers, { concurrency, onTrouble }: WorkOptions): Working {
    const stopping = new AbortController()
    const workers = Array.from({ length: concurrency }, () => takeJobs())

    async function takeJobs(): Promise<void> {
      while (!stopping.signal.aborted) {
        try {
          const job = await claimJob(db, now(), leaseMs)
          if (job) await runJob(job)
          else await untilWoken()
        } catch (error) {
          onTrouble(error)
          await untilWoken()
        }
      }
    }

    async function untilWoken(): Promise<void> {
      const woken = new AbortController()
      const waker = () => woken.abort()
      wakers.add(waker)
      const signal = AbortSignal.any([woken.signal, stopping.signal])
      await sleep(lookEveryMs, undefined, { signal }).catch(() => {})
      wakers.delete(waker)
    }

    async function runJob(job: ClaimedJob): Promise<void> {
      const lost = new AbortController()
      underWay.set(job, lost)
      const renewing = keepLease(job, lost)
      const run = {
        signal: AbortSignal.any([lost.signal, stopping.signal]),
        finish: <T>(write: (tx: Db) => Promise<T>) => finishJob(job, write),
      }
      try {
        const handler = handlers[job.kind]
        if (!handler) throw new Hopeless(`nobody here knows how to do "${job.kind}"`)
        await handler.run(job, run)
        // What a finished job enqueued is waiting for the other workers.
        wake()
      } catch (error) {
        if (stopping.signal.aborted) {
          await returnJob(db, job, { failures: job.failures, dueAt: now() })
        } else if (!(error instanceof LostJob) && !lost.signal.aborted) {
          onTrouble(error, job)
          await failJob(job, error)
        }
      } finally {
        clearInterval(renewing)
        underWay.delete(job)
      }
    }

    function keepLease(job: ClaimedJob, lost: AbortController): NodeJS.Timeout {
      return setInterval(async () => {
        try {
          if (!(await renewLease(db, job, now() + leaseMs))) lost.abort(new LostJob(job))
        } catch (error) {
          // The lease may run out before the database is back; finishing will tell.
          onTrouble(error, job)
        }
      }, leaseMs / 3)
    }

    async function failJob(job: ClaimedJob, error: unknown): Promise<void> {
      const failures = job.failures + 1
      if (error instanceof Hopeless || failures >= mostFailures) {
        const handler = handlers[job.kind]
        await finishJob(job, async (tx) => handler?.gaveUp(tx, job, (error as Error).message))
        wake()
      } else {
        const dueAt = now() + firstPauseMs * 2 ** (failures - 1)
        await returnJob(db, job, { failures, dueAt })
      }
    }

    return {
      async stop() {
        stopping.abort()
        await Promise.all(workers)
      },
    }
  }

  function finishJob<T>(job: ClaimedJob & Job, write: (tx: Db) => Promise<T>): Promise<T> {
    return db.transaction().execute(async (tx) => {
      if (!(await deleteJob(tx, job))) throw new LostJob(job)
      return write(tx)
    })
  }

  return {
    enqueue: (tx, kind, payloads, batch) => insertJobs(tx, kind, payloads, { batch, now: now() }),
    cancel: deleteBatch,
    backlog: () => countJobs(db),
    interrupt(batch) {
      for (const [job, lost] of underWay) if (job.batch === batch) lost.abort(new LostJob(job))
    },
    wake,
    work,
  }
}
