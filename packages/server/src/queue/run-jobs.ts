import { setTimeout as sleep } from 'node:timers/promises'
import { publicReason } from '@godwit/lib/disk-errors'
import { isDeadlock, retryDeadlocks } from '../db/connect.ts'
import type { Db } from '../db/database.ts'
import {
  type Handler,
  type Handlers,
  type Job,
  LeaseLost,
  PermanentError,
  type QueueName,
  RetryLater,
  type StartedWorker,
  type WorkOptions,
} from './queue.ts'

export interface HeldJob extends Job {
  batch: string
}

/** The jobs of one queue implementation. All functions but `claim` do nothing to a job that the caller no longer holds. */
export interface JobStore<Held extends HeldJob> {
  /** `running` are the jobs that the calling worker runs. */
  claim(atMost: number, queue: QueueName, running: Iterable<Held>): Promise<Held[]>
  /** Renews the lease. Returns false if another worker has taken over the job. */
  renew(job: Held): Promise<boolean>
  /** Returns false if another worker has taken over the job. */
  remove(tx: Db, job: Held): Promise<boolean>
  returnToQueue(job: Held, as: { pauseMs: number; isFailure: boolean }): Promise<void>
}

interface JobTiming {
  renewIntervalMs: number
  /** How often an idle worker polls for jobs if nothing wakes it. */
  pollIntervalMs: number
  /** The pause before the second attempt. It doubles with each attempt. */
  retryPauseMs: number
  /** The pause after `RetryLater` without a time. */
  retryLaterPauseMs: number
  maxFailures: number
}

const DEFAULT_TIMING: Omit<JobTiming, 'renewIntervalMs'> = {
  pollIntervalMs: 1000,
  retryPauseMs: 1000,
  retryLaterPauseMs: 5000,
  maxFailures: 5,
}

/** Times that are not set have defaults. */
export type WorkerTiming = Partial<JobTiming> & Pick<JobTiming, 'renewIntervalMs'>

interface WorkerContext<Held extends HeldJob> {
  db: Db
  store: JobStore<Held>
  timing: JobTiming
}

/** During a rolling upgrade, only some processes know a new kind of job. */
const UNKNOWN_KIND_PAUSE_MS = 10_000

/** One attempt at a job, from its claim until it is finished, returned, given up or lost. */
function createRun<Held extends HeldJob>(
  job: Held,
  { db, store, timing }: WorkerContext<Held>,
  { onError, stopping }: Pick<WorkOptions, 'onError'> & { stopping: AbortSignal },
) {
  const leaseLost = new AbortController()
  /** Aborted when the lease needs no further renewal, even if the handler is still running. */
  const ended = new AbortController()
  const abortWithLeaseLost = () => leaseLost.abort(new LeaseLost(job))

  async function run(handlers: Handlers): Promise<void> {
    if (stopping.aborted) return returnUncounted()
    const handler = handlers[job.kind]
    if (!handler) {
      onError(new Error(`unknown kind of job: "${job.kind}"`), job)
      return returnUncounted(UNKNOWN_KIND_PAUSE_MS)
    }
    // A failed last attempt removes the job. This job still exists, so the worker of its last attempt died.
    if (job.failures >= timing.maxFailures && !handler.retriesAfterWorkerDeath)
      return giveUp(handler, 'its worker was lost')
    keepRenewing()
    try {
      await handler.run(job, { signal: AbortSignal.any([leaseLost.signal, stopping]), finish })
    } catch (error) {
      await handleFailure(error, handler)
    } finally {
      ended.abort()
    }
  }

  async function keepRenewing(): Promise<void> {
    for (;;) {
      await sleep(timing.renewIntervalMs, undefined, { signal: ended.signal }).catch(() => {})
      if (ended.signal.aborted || leaseLost.signal.aborted) return
      try {
        if (!(await store.renew(job)) && !ended.signal.aborted) abortWithLeaseLost()
      } catch (error) {
        // Another worker may take over the job before the database is available again; the next renewal or `finish` detects that.
        onError(error, job)
      }
    }
  }

  async function handleFailure(error: unknown, handler: Handler): Promise<void> {
    if (error instanceof LeaseLost || leaseLost.signal.aborted) return
    if (stopping.aborted) return returnUncounted()
    if (isDeadlock(error)) return postpone(new RetryLater('a deadlock', { cause: error }))
    if (error instanceof RetryLater) return postpone(error)
    onError(error, job)
    if (ended.signal.aborted) return
    const failures = job.failures + 1
    if (error instanceof PermanentError || failures >= timing.maxFailures)
      return giveUp(handler, publicReason(error))
    const pauseMs = timing.retryPauseMs * 2 ** (failures - 1)
    await store.returnToQueue(job, { pauseMs, isFailure: true })
  }

  async function postpone(why: RetryLater): Promise<void> {
    onError(why, job)
    if (!ended.signal.aborted) await returnUncounted(pauseOf(why, timing))
  }

  const returnUncounted = (pauseMs = 0): Promise<void> =>
    store.returnToQueue(job, { pauseMs, isFailure: false })

  async function giveUp(handler: Handler, reason: string): Promise<void> {
    await finish((tx) => handler.onGiveUp(tx, job, reason))
    await handler.afterGiveUp?.(job, reason)
  }

  async function finish<T>(write: (tx: Db) => Promise<T>): Promise<T> {
    const result = await retryDeadlocks(() =>
      db.transaction().execute(async (tx) => {
        if (!(await store.remove(tx, job))) throw new LeaseLost(job)
        return write(tx)
      }),
    )
    ended.abort()
    return result
  }

  return { run, abortWithLeaseLost }
}

const pauseOf = ({ dueAt, pauseMs }: RetryLater, { retryLaterPauseMs }: JobTiming): number =>
  dueAt === undefined ? (pauseMs ?? retryLaterPauseMs) : Math.max(0, Math.ceil(dueAt - Date.now()))

/** Claims jobs of one queue and runs up to `concurrency` of them at a time. */
function startWorker<Held extends HeldJob>(
  handlers: Handlers,
  { queue = 'jobs', concurrency, onError }: WorkOptions,
  context: WorkerContext<Held>,
) {
  const stopping = new AbortController()
  const running = new Map<Held, { abortWithLeaseLost(): void; end: Promise<void> }>()
  /** Aborted to end the sleep of an idle worker. If it is aborted before the worker sleeps, the next sleep ends at once. */
  let wakeUp = new AbortController()
  const wake = () => wakeUp.abort()

  async function runJobs(): Promise<void> {
    while (!stopping.signal.aborted) {
      const free = concurrency - running.size
      const jobs = free > 0 ? await claim(free) : []
      for (const job of jobs) start(job)
      if (jobs.length === 0) await sleepUntilWoken()
    }
    await Promise.all(running.values().map(({ end }) => end))
  }

  async function claim(atMost: number): Promise<Held[]> {
    try {
      return await context.store.claim(atMost, queue, running.keys())
    } catch (error) {
      onError(error)
      return []
    }
  }

  async function sleepUntilWoken(): Promise<void> {
    const { signal } = wakeUp
    await sleep(context.timing.pollIntervalMs, undefined, { signal }).catch(() => {})
    wakeUp = new AbortController()
  }

  function start(job: Held): void {
    const { run, abortWithLeaseLost } = createRun(job, context, {
      onError,
      stopping: stopping.signal,
    })
    const end = run(handlers)
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) onError(error, job)
      })
      .finally(() => {
        running.delete(job)
        wake()
      })
    running.set(job, { abortWithLeaseLost, end })
  }

  const working = runJobs()
  return {
    queue,
    running,
    wake,
    async stop(): Promise<void> {
      stopping.abort()
      wake()
      await working
    },
  }
}

/** Returns the part of a queue that runs jobs in this process, wherever they are stored. */
export function createWorkers<Held extends HeldJob>({
  timing,
  ...dependencies
}: Omit<WorkerContext<Held>, 'timing'> & { timing: WorkerTiming }) {
  const context = { ...dependencies, timing: { ...DEFAULT_TIMING, ...timing } }
  const workers = new Set<ReturnType<typeof startWorker<Held>>>()
  return {
    work(handlers: Handlers, options: WorkOptions): StartedWorker {
      const worker = startWorker(handlers, options, context)
      workers.add(worker)
      return {
        stop: async () => {
          await worker.stop()
          workers.delete(worker)
        },
      }
    },
    wake(queue?: QueueName): void {
      for (const worker of workers) if (queue === undefined || worker.queue === queue) worker.wake()
    },
    interrupt(batch: string): void {
      for (const { running } of workers)
        for (const [job, { abortWithLeaseLost }] of running)
          if (job.batch === batch) abortWithLeaseLost()
    },
    running(queue: QueueName = 'jobs'): number {
      const ofQueue = workers.values().filter((worker) => worker.queue === queue)
      return ofQueue.reduce((sum, worker) => sum + worker.running.size, 0)
    },
    async stop(): Promise<void> {
      await Promise.all(workers.values().map((worker) => worker.stop()))
    },
  }
}
