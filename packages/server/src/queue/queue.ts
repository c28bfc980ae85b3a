import type { Db } from '../db/database.ts'

/** Work that any process may do, at least once. The payload is plain JSON. */
export interface Job {
  id: string
  kind: string
  payload: unknown
  /** The number of failed attempts. */
  failures: number
}

/** A job as it is copied from one queue to another. */
export interface CopiedJob extends Omit<Job, 'id' | 'failures'> {
  batch: string | null
  queue: QueueName
}

export interface Run {
  /** Aborted when another worker has taken over the job, or the process is stopping. */
  signal: AbortSignal
  /**
   * The only way to complete a job: one transaction writes the result and removes the job. Rejects with LeaseLost if another worker
   * has taken over the job, so a worker that was presumed dead can never write. After a deadlock, `write` is called again.
   */
  finish<T>(write: (tx: Db) => Promise<T>): Promise<T>
}

export interface Handler {
  /** Any error counts a failure and the job is retried. RetryLater counts none. PermanentError gives up at once. */
  run(job: Job, run: Run): Promise<void>
  /** Called in the transaction that removes a job after its last attempt. Users may see the reason. */
  onGiveUp(tx: Db, job: Job, reason: string): Promise<void>
  /** Called after that transaction has been committed. */
  afterGiveUp?(job: Job, reason: string): Promise<void>
  /** Whether it is run again however often its workers died. It must not be able to end its process itself. */
  retriesAfterWorkerDeath?: boolean
}

export type Handlers = Readonly<Record<string, Handler>>

export interface StartedWorker {
  /** Aborts running jobs, which stay in the queue, and claims no more. Resolves when all have ended. */
  stop(): Promise<void>
}

/** Each queue has its own workers: receivers of webhooks may be slow, and must never delay exports. */
export type QueueName = (typeof queueNames)[number]
export const queueNames = ['jobs', 'webhooks'] as const
export const isQueueName = (text: string): text is QueueName =>
  queueNames.some((name) => name === text)

export interface WorkOptions {
  concurrency: number
  /** The queue whose jobs are run; `jobs` by default. */
  queue?: QueueName
  /** Called for every failed run and for errors of the queue itself. */
  onError: (error: unknown, job?: Job) => void
}

export interface Backlog {
  kind: string
  jobs: number
  /** Epoch milliseconds. */
  oldest: number
}

/** `packages/server/src/queue/queue.contract.ts` tests every implementation. */
export interface Queue {
  /** Adds one job per payload, all of one batch, when the caller's transaction commits. */
  enqueue(
    tx: Db,
    kind: string,
    payloads: readonly unknown[],
    batch: string,
    queue?: QueueName,
  ): Promise<void>
  /** Removes all jobs of a batch when the caller's transaction commits. */
  cancel(tx: Db, batch: string): Promise<void>
  /**
   * Call it after the commit of a `cancel`. Aborts the batch's jobs in this process at once. Others stop when they next renew their
   * lease.
   */
  interrupt(batch: string): void
  /** Call it after the commit of an `enqueue`. Workers of one queue, or of all, claim jobs at once instead of at the next poll. */
  wake(queue?: QueueName): void
  work(handlers: Handlers, options: WorkOptions): StartedWorker
  /** Counts the jobs of a queue that run in this process. */
  running(queue?: QueueName): number
  /** Counts all jobs by kind, with the time when the oldest was added. */
  backlog(): Promise<Backlog[]>
}

/** A retry would fail in the same way. */
export class PermanentError extends Error {
  override name = 'PermanentError'
}

/**
 * Something that the job needs is temporarily unavailable. The job is retried at `dueAt` (epoch milliseconds), after `pauseMs`, or
 * after a default pause, as often as necessary and without counting a failure.
 */
export class RetryLater extends Error {
  override name = 'RetryLater'
  readonly dueAt: number | undefined
  readonly pauseMs: number | undefined

  constructor(
    message: string,
    { dueAt, pauseMs, ...options }: ErrorOptions & { dueAt?: number; pauseMs?: number } = {},
  ) {
    super(message, options)
    this.dueAt = dueAt
    this.pauseMs = pauseMs
  }
}

/**
 * Another worker has taken over the job; this run must write nothing, and it ends without counting a failure. Leases that work inside a
 * job acquires by name are those of `db/lease-store.ts`; when one is held elsewhere, the error is `LeaseTaken`.
 */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  constructor(job: Job) {
    super(`the ${job.kind} job ${job.id} was taken over by another worker`)
  }
}
