import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/database.ts'
import { publicReason } from '../lib/disk-errors.ts'
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
  claim(atMost: number, queue: QueueName): Promise<Held[]>
  /** Renews the lease. Returns false if another worker has taken over the job. */
  renew(job: Held): Promise<boolean>
  /** Returns false if another worker has taken over the job. */
  remove(tx: Db, job: Held): Promise<boolean>
  returnToQueue(job: Held, as: { pauseMs: number; isFailure: boolean }): Promise<void>
}

export interface JobTiming {
  renewIntervalMs: number
  /** How often an idle worker polls for jobs if nothing wakes it. */
  pollIntervalMs: number
  /** The pause before the second attempt. It doubles with each attempt. */
  retryPauseMs: number
  /** The pause after `RetryLater` without a time. */
  retryLaterPauseMs: number
  maxFailures: number
}

export const defaultTiming: Omit<JobTiming, 'renewIntervalMs'> = {
  pollIntervalMs: 1000,
  retryPauseMs: 1000,
  retryLaterPauseMs: 5000,
  maxFailures: 5,
}

interface WorkerContext<Held extends HeldJob> {
  db: Db
  store: JobStore<Held>
  timing: JobTiming
}

/** During a rolling upgrade, only some processes know a new kind of job. */
const UNKNOWN_KIND_PAUSE_MS = 10_000

/** One attempt at a job, from its claim until it is finished, returned, given up or lost. */
class JobRun<Held extends HeldJob> {
  readonly #job: Held
  readonly #context: WorkerContext<Held>
  readonly #onError: WorkOptions['onError']
  readonly #stopping: AbortSignal
  readonly #lost = new AbortController()
  /** Aborted when the lease needs no further renewal, even if the handler is still running. */
  readonly #ended = new AbortController()

  constructor(
    job: Held,
    context: WorkerContext<Held>,
    { onError, stopping }: Pick<WorkOptions, 'onError'> & { stopping: AbortSignal },
  ) {
    this.#job = job
    this.#context = context
    this.#onError = onError
    this.#stopping = stopping
  }

  abortAsLost(): void {
    this.#lost.abort(new LeaseLost(this.#job))
  }

  async run(handlers: Handlers): Promise<void> {
    if (this.#stopping.aborted) return this.#returnUncounted()
    const handler = handlers[this.#job.kind]
    if (!handler) {
      this.#onError(new Error(`unknown kind of job: "${this.#job.kind}"`), this.#job)
      return this.#returnUncounted(UNKNOWN_KIND_PAUSE_MS)
    }
    // A failed last attempt removes the job. This job still exists, so the worker of its last attempt died.
    if (this.#job.failures >= this.#context.timing.maxFailures)
      return this.#giveUp(handler, 'its worker was lost')
    this.#keepRenewing()
    try {
      await handler.run(this.#job, {
        signal: AbortSignal.any([this.#lost.signal, this.#stopping]),
        finish: (write) => this.#finish(write),
      })
    } catch (error) {
      await this.#handleFailure(error, handler)
    } finally {
      this.#ended.abort()
    }
  }

  async #keepRenewing(): Promise<void> {
    const [ended, lost] = [this.#ended.signal, this.#lost.signal]
    for (;;) {
      await sleep(this.#context.timing.renewIntervalMs, undefined, { signal: ended }).catch(
        () => {},
      )
      if (ended.aborted || lost.aborted) return
      try {
        const isHeld = await this.#context.store.renew(this.#job)
        if (!isHeld && !ended.aborted) this.abortAsLost()
      } catch (error) {
        // Another worker may take over the job before the database is available again; the next renewal or `finish` detects that.
        this.#onError(error, this.#job)
      }
    }
  }

  async #handleFailure(error: unknown, handler: Handler): Promise<void> {
    if (error instanceof LeaseLost || this.#lost.signal.aborted) return
    if (this.#stopping.aborted) return this.#returnUncounted()
    this.#onError(error, this.#job)
    if (this.#ended.signal.aborted) return
    const { timing, store } = this.#context
    if (error instanceof RetryLater) return this.#returnUncounted(pauseOf(error, timing))
    const failures = this.#job.failures + 1
    if (error instanceof PermanentError || failures >= timing.maxFailures)
      return this.#giveUp(handler, publicReason(error))
    const pauseMs = timing.retryPauseMs * 2 ** (failures - 1)
    await store.returnToQueue(this.#job, { pauseMs, isFailure: true })
  }

  #returnUncounted(pauseMs = 0): Promise<void> {
    return this.#context.store.returnToQueue(this.#job, { pauseMs, isFailure: false })
  }

  async #giveUp(handler: Handler, reason: string): Promise<void> {
    await this.#finish((tx) => handler.onGiveUp(tx, this.#job, reason))
    await handler.afterGiveUp?.(this.#job, reason)
  }

  async #finish<T>(write: (tx: Db) => Promise<T>): Promise<T> {
    const { db, store } = this.#context
    const result = await db.transaction().execute(async (tx) => {
      if (!(await store.remove(tx, this.#job))) throw new LeaseLost(this.#job)
      return write(tx)
    })
    this.#ended.abort()
    return result
  }
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
  const running = new Map<Held, { run: JobRun<Held>; end: Promise<void> }>()
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
      return await context.store.claim(atMost, queue)
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
    const run = new JobRun(job, context, { onError, stopping: stopping.signal })
    const end = run
      .run(handlers)
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) onError(error, job)
      })
      .finally(() => {
        running.delete(job)
        wake()
      })
    running.set(job, { run, end })
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
export function createWorkers<Held extends HeldJob>(context: WorkerContext<Held>) {
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
        for (const [job, { run }] of running) if (job.batch === batch) run.abortAsLost()
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
