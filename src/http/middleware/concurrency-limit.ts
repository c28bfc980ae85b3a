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
