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
  type WorkOptions,
} from './queue.ts'

export interface HeldJob extends Job {
  batch: string
  /** How many tries have failed. */
  failures: number
}

/** Each but `claim` leaves a job alone that its caller no longer holds. */
export interface JobStore<Held extends HeldJob> {
  claim(atMost: number, line: QueueName): Promise<Held[]>
  /** A sign of life. False when the job is no longer ours. */
  keep(job: Held): Promise<boolean>
  /** False when the job is no longer ours. */
  remove(tx: Db, job: Held): Promise<boolean>
  giveBack(job: Held, as: { pauseMs: number; isFailure: boolean }): Promise<void>
}

export interface JobTiming {
  /** How often a worker gives a sign of life. */
  keepEveryMs: number
  /** How long an idle worker waits before it looks again unasked. */
  lookEveryMs: number
  /** Pause before the second try; it doubles with every further one. */
  firstPauseMs: number
  /** Pause before a job is tried again that had to wait for something else. */
  notNowPauseMs: number
  maxFailures: number
}

export const defaultTiming: Omit<JobTiming, 'keepEveryMs'> = {
  lookEveryMs: 1000,
  firstPauseMs: 1000,
  notNowPauseMs: 5000,
  maxFailures: 5,
}

export interface WorkerContext<Held extends HeldJob> {
  db: Db
  store: JobStore<Held>
  pace: JobTiming
}

/** While versions change: who knows the job's kind may be running already, or only after the next restart. */
const UNKNOWN_KIND_PAUSE_MS = 10_000

/** One try at a job, from its claim until it is finished, given back, given up or lost. */
export class JobRun<Held extends HeldJob> {
  readonly #job: Held
  readonly #place: WorkerContext<Held>
  readonly #onError: WorkOptions['onError']
  readonly #stopping: AbortSignal
  readonly #lost = new AbortController()
  /** Nothing is left to keep, whatever the handler still has to do. */
  readonly #ended = new AbortController()

  constructor(
    job: Held,
    place: WorkerContext<Held>,
    { onError, stopping }: Pick<WorkOptions, 'onError'> & { stopping: AbortSignal },
  ) {
    this.#job = job
    this.#place = place
    this.#onError = onError
    this.#stopping = stopping
  }

  lose(): void {
    this.#lost.abort(new LeaseLost(this.#job))
  }

  async run(handlers: Handlers): Promise<void> {
    if (this.#stopping.aborted) return this.#leaveToOthers()
    const handler = handlers[this.#job.kind]
    if (!handler) {
      this.#onError(new Error(`unknown kind of job: "${this.#job.kind}"`), this.#job)
      return this.#leaveToOthers(UNKNOWN_KIND_PAUSE_MS)
    }
    // A try that fails for the last time ends the job there and then: this one's worker was lost.
    if (this.#job.failures >= this.#place.pace.maxFailures)
      return this.#giveUp(handler, 'its worker was lost')
    this.#keepHold()
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

  async #keepHold(): Promise<void> {
    const [ended, lost] = [this.#ended.signal, this.#lost.signal]
    for (;;) {
      await sleep(this.#place.pace.keepEveryMs, undefined, { signal: ended }).catch(() => {})
      if (ended.aborted || lost.aborted) return
      try {
        const isOurs = await this.#place.store.keep(this.#job)
        if (!isOurs && !ended.aborted) this.lose()
      } catch (error) {
        // The job may be given away before the database is back; the next sign of life or the finish will tell.
        this.#onError(error, this.#job)
      }
    }
  }

  async #handleFailure(error: unknown, handler: Handler): Promise<void> {
    if (error instanceof LeaseLost || this.#lost.signal.aborted) return
    if (this.#stopping.aborted) return this.#leaveToOthers()
    this.#onError(error, this.#job)
    if (this.#ended.signal.aborted) return
    const { pace, store } = this.#place
    if (error instanceof RetryLater) return this.#leaveToOthers(pauseUntil(error, pace))
    const failures = this.#job.failures + 1
    if (error instanceof PermanentError || failures >= pace.maxFailures)
      return this.#giveUp(handler, publicReason(error))
    const pauseMs = pace.firstPauseMs * 2 ** (failures - 1)
    await store.giveBack(this.#job, { pauseMs, isFailure: true })
  }

  #leaveToOthers(pauseMs = 0): Promise<void> {
    return this.#place.store.giveBack(this.#job, { pauseMs, isFailure: false })
  }

  async #giveUp(handler: Handler, reason: string): Promise<void> {
    await this.#finish((tx) => handler.gaveUp(tx, this.#job, reason))
    await handler.afterGivingUp?.(this.#job, reason)
  }

  async #finish<T>(write: (tx: Db) => Promise<T>): Promise<T> {
    const { db, store } = this.#place
    const result = await db.transaction().execute(async (tx) => {
      if (!(await store.remove(tx, this.#job))) throw new LeaseLost(this.#job)
      return write(tx)
    })
    this.#ended.abort()
    return result
  }
}

const pauseUntil = ({ dueAt, pauseMs }: RetryLater, { notNowPauseMs }: JobTiming): number =>
  dueAt === undefined ? (pauseMs ?? notNowPauseMs) : Math.max(0, Math.ceil(dueAt - Date.now()))
