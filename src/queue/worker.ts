import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/database.ts'
import {
  type Handler,
  type Handlers,
  Hopeless,
  type Job,
  LostJob,
  NotNow,
  type Working,
  type WorkOptions,
} from './queue.ts'

export interface HeldJob extends Job {
  batch: string
  /** How many tries have failed. */
  failures: number
}

/** Each but `claim` leaves a job alone that its caller no longer holds. */
export interface JobStore<Held extends HeldJob> {
  claim(atMost: number): Promise<Held[]>
  /** A sign of life. False when the job is no longer ours. */
  keep(job: Held): Promise<boolean>
  /** False when the job is no longer ours. */
  remove(tx: Db, job: Held): Promise<boolean>
  giveBack(job: Held, as: { pauseMs: number; isFailure: boolean }): Promise<void>
}

export interface WorkerOptions<Held extends HeldJob> extends WorkOptions {
  db: Db
  store: JobStore<Held>
  keepEveryMs: number
  /** How long an idle worker waits before it looks again unasked. */
  lookEveryMs: number
  /** Pause before the second try; it doubles with every further one. */
  firstPauseMs: number
  /** Pause before a job is tried again that had to wait for something else. */
  notNowPauseMs: number
  maxFailures: number
}

export interface Worker extends Working {
  wake(): void
  interrupt(batch: string): void
  running(): number
}

/** While versions change: who knows the job's kind may be running already, or only after the next restart. */
const UNKNOWN_KIND_PAUSE_MS = 10_000

/** Takes jobs as long as there is room for more, and runs them side by side. */
export function startWorker<Held extends HeldJob>(
  handlers: Handlers,
  options: WorkerOptions<Held>,
): Worker {
  const { db, store, concurrency, onTrouble } = options
  const stopping = new AbortController()
  const underWay = new Map<Held, { lost: AbortController; end: Promise<void> }>()
  // Rung while nobody waits, it is heard at the next wait: no work is overlooked.
  let bell = new AbortController()
  const wake = () => bell.abort()

  async function takeJobs(): Promise<void> {
    while (!stopping.signal.aborted) {
      const room = concurrency - underWay.size
      const jobs = room > 0 ? await claim(room) : []
      for (const job of jobs) begin(job)
      if (jobs.length === 0) await untilWoken()
    }
    await Promise.all(underWay.values().map(({ end }) => end))
  }

  async function claim(atMost: number): Promise<Held[]> {
    try {
      return await store.claim(atMost)
    } catch (error) {
      onTrouble(error)
      return []
    }
  }

  async function untilWoken(): Promise<void> {
    await sleep(options.lookEveryMs, undefined, { signal: bell.signal }).catch(() => {})
    bell = new AbortController()
  }

  function begin(job: Held): void {
    const lost = new AbortController()
    const end = runJob(job, lost)
      .catch((error: unknown) => {
        if (!(error instanceof LostJob)) onTrouble(error, job)
      })
      .finally(() => {
        underWay.delete(job)
        wake()
      })
    underWay.set(job, { lost, end })
  }

  async function runJob(job: Held, lost: AbortController): Promise<void> {
    if (stopping.signal.aborted) return leaveToOthers(job)
    const handler = handlers[job.kind]
    if (!handler) {
      onTrouble(new Error(`nobody here knows how to do "${job.kind}"`), job)
      return leaveToOthers(job, UNKNOWN_KIND_PAUSE_MS)
    }
    // A try that fails for the last time ends the job there and then: this one's worker was lost.
    if (job.failures >= options.maxFailures) return giveUp(job, handler, 'its worker was lost')
    const ended = new AbortController()
    keepHold(job, lost, ended.signal)
    try {
      await handler.run(job, {
        signal: AbortSignal.any([lost.signal, stopping.signal]),
        async finish(write) {
          const result = await finishJob(job, write)
          // Nothing is left to keep, whatever the handler still has to do.
          ended.abort()
          return result
        },
      })
    } catch (error) {
      if (error instanceof LostJob || lost.signal.aborted) return
      if (stopping.signal.aborted) return await leaveToOthers(job)
      onTrouble(error, job)
      if (ended.signal.aborted) return
      if (error instanceof NotNow) await leaveToOthers(job, options.notNowPauseMs)
      else await failJob(job, handler, error)
    } finally {
      ended.abort()
    }
  }

  async function keepHold(job: Held, lost: AbortController, ended: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(options.keepEveryMs, undefined, { signal: ended }).catch(() => {})
      if (ended.aborted || lost.signal.aborted) return
      try {
        const isOurs = await store.keep(job)
        if (!isOurs && !ended.aborted) lost.abort(new LostJob(job))
      } catch (error) {
        // The job may be given away before the database is back; the next sign of life or the finish will tell.
        onTrouble(error, job)
      }
    }
  }

  async function failJob(job: Held, handler: Handler, error: unknown): Promise<void> {
    const failures = job.failures + 1
    if (error instanceof Hopeless || failures >= options.maxFailures) {
      return giveUp(job, handler, (error as Error).message)
    }
    const pauseMs = options.firstPauseMs * 2 ** (failures - 1)
    await store.giveBack(job, { pauseMs, isFailure: true })
  }

  const leaveToOthers = (job: Held, pauseMs = 0) =>
    store.giveBack(job, { pauseMs, isFailure: false })

  const giveUp = (job: Held, handler: Handler, reason: string) =>
    finishJob(job, (tx) => handler.gaveUp(tx, job, reason))

  function finishJob<T>(job: Held, write: (tx: Db) => Promise<T>): Promise<T> {
    return db.transaction().execute(async (tx) => {
      if (!(await store.remove(tx, job))) throw new LostJob(job)
      return write(tx)
    })
  }

  const working = takeJobs()
  return {
    wake,
    running: () => underWay.size,
    interrupt(batch) {
      for (const [job, { lost }] of underWay) if (job.batch === batch) lost.abort(new LostJob(job))
    },
    async stop() {
      stopping.abort()
      wake()
      await working
    },
  }
}
