import { Tally } from './tally.ts'

export interface ConcurrencyOptions {
  /** How many may be under way at a time. */
  max: number
  /** How many of these one caller may have. */
  maxPerCaller: number
  /** How many may wait for their turn, of all callers together; half of them of one caller. */
  maxWaiting: number
  /** How long one waits for its turn. */
  waitMs: number
  /** The error for one that waited too long, or behind too many; `isOwn` if the caller itself has its full share under way. */
  refusal: (isOwn: boolean) => Error
}

export interface ConcurrencyLimit {
  /** Resolves, when it is this request's turn, to a function that must be called at its end. */
  take(caller: string, signal: AbortSignal): Promise<() => void>
  running(): number
  waiting(): number
}

interface Waiting {
  caller: string
  begin(): void
}

/**
 * Limits how many requests of a kind are under way, in total and per caller. Those that are too many wait in line, since many
 * clients do not try again. No caller has all of it, nor all of the line: who asks for much waits for itself alone.
 */
export function concurrencyLimit(options: ConcurrencyOptions): ConcurrencyLimit {
  const { max, maxPerCaller, maxWaiting, waitMs, refusal } = options
  const held = new Tally()
  const lined = new Tally()
  const line = new Set<Waiting>()

  const isOwn = (caller: string) => held.of(caller) >= maxPerCaller
  const isFree = (caller: string) => held.total() < max && !isOwn(caller)

  function begin(caller: string): () => void {
    held.add(caller, 1)
    return () => {
      held.add(caller, -1)
      for (const next of line) if (isFree(next.caller)) return next.begin()
    }
  }

  function wait(caller: string, signal: AbortSignal): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const leave = () => {
      line.delete(waiting)
      lined.add(caller, -1)
      clearTimeout(bound)
      signal.removeEventListener('abort', giveUp)
    }
    const giveUp = () => {
      leave()
      reject(signal.reason)
    }
    const waiting: Waiting = {
      caller,
      begin() {
        leave()
        resolve(begin(caller))
      },
    }
    const bound = setTimeout(() => {
      leave()
      reject(refusal(isOwn(caller)))
    }, waitMs)
    line.add(waiting)
    lined.add(caller, 1)
    signal.addEventListener('abort', giveUp, { once: true })
    return promise
  }

  return {
    async take(caller, signal) {
      signal.throwIfAborted()
      if (isFree(caller)) return begin(caller)
      const isLineFull = line.size >= maxWaiting || lined.of(caller) >= Math.ceil(maxWaiting / 2)
      if (isLineFull) throw refusal(isOwn(caller))
      return wait(caller, signal)
    },
    running: () => held.total(),
    waiting: () => line.size,
  }
}
