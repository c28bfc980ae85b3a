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
