import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Handlers,
  LeaseLost,
  type QueueName,
  type StartedWorker,
  type WorkOptions,
} from './queue.ts'
import { type HeldJob, JobRun, type WorkerContext } from './run-job.ts'

/** Claims jobs of one queue and runs up to `concurrency` of them at a time. */
class Worker<Held extends HeldJob> implements StartedWorker {
  readonly #handlers: Handlers
  readonly #options: WorkOptions
  readonly #context: WorkerContext<Held>
  readonly #stopping = new AbortController()
  readonly #running = new Map<Held, { run: JobRun<Held>; end: Promise<void> }>()
  /** Aborted to end the sleep of an idle worker. If it is aborted before the worker sleeps, the next sleep ends at once. */
  #wakeUp = new AbortController()
  readonly #working: Promise<void>

  constructor(handlers: Handlers, options: WorkOptions, context: WorkerContext<Held>) {
    this.#handlers = handlers
    this.#options = options
    this.#context = context
    this.#working = this.#runJobs()
  }

  wake(): void {
    this.#wakeUp.abort()
  }

  get queue(): QueueName {
    return this.#options.queue ?? 'jobs'
  }

  running(): number {
    return this.#running.size
  }

  interrupt(batch: string): void {
    for (const [job, { run }] of this.#running) if (job.batch === batch) run.abortAsLost()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#working
  }

  async #runJobs(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const free = this.#options.concurrency - this.#running.size
      const jobs = free > 0 ? await this.#claim(free) : []
      for (const job of jobs) this.#start(job)
      if (jobs.length === 0) await this.#sleepUntilWoken()
    }
    await Promise.all(this.#running.values().map(({ end }) => end))
  }

  async #claim(atMost: number): Promise<Held[]> {
    try {
      return await this.#context.store.claim(atMost, this.queue)
    } catch (error) {
      this.#options.onError(error)
      return []
    }
  }

  async #sleepUntilWoken(): Promise<void> {
    const { pollIntervalMs } = this.#context.timing
    await sleep(pollIntervalMs, undefined, { signal: this.#wakeUp.signal }).catch(() => {})
    this.#wakeUp = new AbortController()
  }

  #start(job: Held): void {
    const { onError } = this.#options
    const run = new JobRun(job, this.#context, { onError, stopping: this.#stopping.signal })
    const end = run
      .run(this.#handlers)
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) onError(error, job)
      })
      .finally(() => {
        this.#running.delete(job)
        this.wake()
      })
    this.#running.set(job, { run, end })
  }
}

/** All workers of this process. */
export class Workers<Held extends HeldJob> {
  readonly #context: WorkerContext<Held>
  readonly #workers = new Set<Worker<Held>>()

  constructor(context: WorkerContext<Held>) {
    this.#context = context
  }

  start(handlers: Handlers, options: WorkOptions): StartedWorker {
    const worker = new Worker(handlers, options, this.#context)
    this.#workers.add(worker)
    return {
      stop: async () => {
        await worker.stop()
        this.#workers.delete(worker)
      },
    }
  }

  wake(queue?: QueueName): void {
    for (const worker of this.#workers)
      if (queue === undefined || worker.queue === queue) worker.wake()
  }

  interrupt(batch: string): void {
    for (const worker of this.#workers) worker.interrupt(batch)
  }

  running(queue: QueueName = 'jobs'): number {
    const workers = this.#workers.values().filter((worker) => worker.queue === queue)
    return workers.reduce((sum, worker) => sum + worker.running(), 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.values().map((worker) => worker.stop()))
  }
}
