import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Handlers,
  LeaseLost,
  type QueueName,
  type Working,
  type WorkOptions,
} from './queue.ts'
import { type HeldJob, JobRun, type WorkerContext } from './run-job.ts'

/** Takes jobs as long as there is room for more, and runs them side by side. */
class Worker<Held extends HeldJob> implements Working {
  readonly #handlers: Handlers
  readonly #options: WorkOptions
  readonly #place: WorkerContext<Held>
  readonly #stopping = new AbortController()
  readonly #underWay = new Map<Held, { run: JobRun<Held>; end: Promise<void> }>()
  /** Rung while nobody waits, it is heard at the next wait: no work is overlooked. */
  #bell = new AbortController()
  readonly #working: Promise<void>

  constructor(handlers: Handlers, options: WorkOptions, place: WorkerContext<Held>) {
    this.#handlers = handlers
    this.#options = options
    this.#place = place
    this.#working = this.#takeJobs()
  }

  wake(): void {
    this.#bell.abort()
  }

  get line(): QueueName {
    return this.#options.line ?? 'jobs'
  }

  running(): number {
    return this.#underWay.size
  }

  interrupt(batch: string): void {
    for (const [job, { run }] of this.#underWay) if (job.batch === batch) run.lose()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#working
  }

  async #takeJobs(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const room = this.#options.concurrency - this.#underWay.size
      const jobs = room > 0 ? await this.#claim(room) : []
      for (const job of jobs) this.#begin(job)
      if (jobs.length === 0) await this.#untilWoken()
    }
    await Promise.all(this.#underWay.values().map(({ end }) => end))
  }

  async #claim(atMost: number): Promise<Held[]> {
    try {
      return await this.#place.store.claim(atMost, this.line)
    } catch (error) {
      this.#options.onError(error)
      return []
    }
  }

  async #untilWoken(): Promise<void> {
    const { lookEveryMs } = this.#place.pace
    await sleep(lookEveryMs, undefined, { signal: this.#bell.signal }).catch(() => {})
    this.#bell = new AbortController()
  }

  #begin(job: Held): void {
    const { onError } = this.#options
    const run = new JobRun(job, this.#place, { onError, stopping: this.#stopping.signal })
    const end = run
      .run(this.#handlers)
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) onError(error, job)
      })
      .finally(() => {
        this.#underWay.delete(job)
        this.wake()
      })
    this.#underWay.set(job, { run, end })
  }
}

/** All that work on one queue in this process. */
export class Workers<Held extends HeldJob> {
  readonly #place: WorkerContext<Held>
  readonly #workers = new Set<Worker<Held>>()

  constructor(place: WorkerContext<Held>) {
    this.#place = place
  }

  start(handlers: Handlers, options: WorkOptions): Working {
    const worker = new Worker(handlers, options, this.#place)
    this.#workers.add(worker)
    return {
      stop: async () => {
        await worker.stop()
        this.#workers.delete(worker)
      },
    }
  }

  wake(line?: QueueName): void {
    for (const worker of this.#workers)
      if (line === undefined || worker.line === line) worker.wake()
  }

  interrupt(batch: string): void {
    for (const worker of this.#workers) worker.interrupt(batch)
  }

  running(line: QueueName = 'jobs'): number {
    const there = this.#workers.values().filter((worker) => worker.line === line)
    return there.reduce((sum, worker) => sum + worker.running(), 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.values().map((worker) => worker.stop()))
  }
}
