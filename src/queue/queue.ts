import type { Db } from '../db/database.ts'

/** A piece of work to be done at least once, by whoever gets to it. The payload is plain JSON. */
export interface Job {
  id: string
  kind: string
  payload: unknown
}

export interface Run {
  /** Aborted when the job was given to someone else, or the process is stopping. */
  signal: AbortSignal
  /**
   * The only way to end a job well: the result is written and the job leaves the queue in one transaction, which fails
   * where the job is no longer ours. A worker that was given up for dead can thus never write.
   */
  finish<T>(write: (tx: Db) => Promise<T>): Promise<T>
}

export interface Handler {
  /** Throws when it might go better later, `RetryLater` when it will, and `Hopeless` when it cannot. */
  run(job: Job, run: Run): Promise<void>
  /** Told, in the transaction that drops the job, that nobody will try it again; users may see the reason. */
  gaveUp(tx: Db, job: Job, reason: string): Promise<void>
  /** Told the same after that has been committed. */
  afterGivingUp?(job: Job, reason: string): Promise<void>
}

export type Handlers = Readonly<Record<string, Handler>>

export interface Working {
  /** Ends what is under way (it stays in the queue) and takes nothing new. */
  stop(): Promise<void>
}

/**
 * Jobs of one line wait for each other and for no others: what is slow by its nature, as whoever answers a webhook may be, is
 * never in the way of exports.
 */
export type QueueName = (typeof queueNames)[number]
export const queueNames = ['jobs', 'webhooks'] as const
export const isQueueName = (text: string): text is QueueName =>
  queueNames.some((line) => line === text)

export interface WorkOptions {
  concurrency: number
  /** Whose jobs are taken; `jobs` unless told. */
  line?: QueueName
  /** Told of every failed run and of errors of the queue itself. */
  onError: (error: unknown, job?: Job) => void
}

export interface Backlog {
  kind: string
  jobs: number
  /** Epoch milliseconds. */
  oldest: number
}

/** One small port; a contract suite runs on every implementation. */
export interface Queue {
  /** One job a payload, all of one batch. They exist if and when the caller's transaction commits. */
  enqueue(
    tx: Db,
    kind: string,
    payloads: readonly unknown[],
    batch: string,
    line?: QueueName,
  ): Promise<void>
  /** Takes all jobs of a batch out of the queue, with the caller's transaction. */
  cancel(tx: Db, batch: string): Promise<void>
  /** After that commit: stops those under way here at once. Elsewhere they stop when they next renew their lease. */
  interrupt(batch: string): void
  /** After that commit: work on the line begins at once rather than at the next look. On every line unless told. */
  wake(line?: QueueName): void
  work(handlers: Handlers, options: WorkOptions): Working
  /** How many jobs of the line are under way in this process. */
  running(line?: QueueName): number
  /** What waits to be done, by kind, and since when the oldest does. */
  backlog(): Promise<Backlog[]>
}

/** Trying again would change nothing. */
export class PermanentError extends Error {
  override name = 'Hopeless'
}

/**
 * What the job needs is away for a while, by no fault of its own: it is tried again until that is back, and not before
 * `dueAt` where that is known, in epoch milliseconds, or after `pauseMs`.
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

/** The job was given to someone else meanwhile; nothing of this run may be written. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  constructor(job: Job) {
    super(`the ${job.kind} job ${job.id} was taken over by another worker`)
  }
}
