import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerKey } from './caller-key.ts'
import { overloaded, tooManyRequests } from './http-errors.ts'
import { watchClient } from './response-stream.ts'

export interface ConcurrencyOptions {
  /** How many requests may run at a time. */
  max: number
  /** How many of these may be of one caller. */
  maxPerCaller: number
  /** How many requests may wait, of all callers together. One caller may have half of them. */
  maxWaiting: number
  /** How long a request waits before it is rejected. */
  waitMs: number
  /** Makes the error for a request that waited too long, or found too many waiting. `isCallerFull`: the caller runs its maximum. */
  refusal: (isCallerFull: boolean) => Error
}

export interface ConcurrencyLimit {
  /** Waits until the request may run. Resolves to a function that must be called when it has ended. */
  take(caller: string, signal: AbortSignal): Promise<() => void>
  running(): number
  waiting(): number
}

interface WaitingRequest {
  caller: string
  start(): void
}

/**
 * Limits how many requests of a kind run, in total and per caller. Further requests wait, since many clients do not retry. No
 * caller can use all slots or fill the queue, so a caller with many requests delays only itself.
 */
export function concurrencyLimit(options: ConcurrencyOptions): ConcurrencyLimit {
  const { max, maxPerCaller, maxWaiting, waitMs, refusal } = options
  const running = new CallerCounts()
  const waitingCounts = new CallerCounts()
  const queue = new Set<WaitingRequest>()

  const isCallerFull = (caller: string) => running.of(caller) >= maxPerCaller
  const mayStart = (caller: string) => running.total() < max && !isCallerFull(caller)

  function start(caller: string): () => void {
    running.add(caller, 1)
    return () => {
      running.add(caller, -1)
      for (const next of queue) if (mayStart(next.caller)) return next.start()
    }
  }

  function wait(caller: string, signal: AbortSignal): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const leave = () => {
      queue.delete(request)
      waitingCounts.add(caller, -1)
      clearTimeout(timeout)
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = () => {
      leave()
      reject(signal.reason)
    }
    const request: WaitingRequest = {
      caller,
      start() {
        leave()
        resolve(start(caller))
      },
    }
    const timeout = setTimeout(() => {
      leave()
      reject(refusal(isCallerFull(caller)))
    }, waitMs)
    queue.add(request)
    waitingCounts.add(caller, 1)
    signal.addEventListener('abort', onAbort, { once: true })
    return promise
  }

  return {
    async take(caller, signal) {
      signal.throwIfAborted()
      if (mayStart(caller)) return start(caller)
      const isQueueFull =
        queue.size >= maxWaiting || waitingCounts.of(caller) >= Math.ceil(maxWaiting / 2)
      if (isQueueFull) throw refusal(isCallerFull(caller))
      return wait(caller, signal)
    },
    running: () => running.total(),
    waiting: () => queue.size,
  }
}

/** Amounts by caller, and their sum. A caller whose amount is zero takes no memory. */
export class CallerCounts {
  readonly #amounts = new Map<string, number>()
  #total = 0

  of(caller: string): number {
    return this.#amounts.get(caller) ?? 0
  }

  total(): number {
    return this.#total
  }

  add(caller: string, by: number): void {
    const amount = this.of(caller) + by
    this.#total += by
    if (amount === 0) this.#amounts.delete(caller)
    else this.#amounts.set(caller, amount)
  }
}

const MAX_RUNNING = 8
const MAX_PER_CALLER = 2
const MAX_WAITING = 200
/** Less than the minute after which proxies give up on a silent server. */
const WAIT_MS = 45_000

export type HeavyRequests = ReturnType<typeof heavyRequests>

/** Limits requests of one kind that need much time or memory. */
export function heavyRequests() {
  const limit = concurrencyLimit({
    max: MAX_RUNNING,
    maxPerCaller: MAX_PER_CALLER,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    refusal: (isCallerFull) => (isCallerFull ? tooManyRequests() : overloaded()),
  })
  return {
    /**
     * Waits until the caller may run another such request, which counts until its response has ended. Resolves to a signal that
     * aborts when the client is gone, so that the work can stop. Rejects with 429 or 503 after waiting too long.
     */
    async begin(request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal> {
      const { signal } = watchClient(reply.raw)
      const end = await limit.take(callerKey(request), signal)
      finished(reply.raw, end)
      return signal
    },
  }
}
