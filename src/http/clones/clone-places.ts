import { tooManyClones } from '../door/refusals.ts'

export interface ClonePlaceOptions {
  /** How many gits may serve at a time. */
  max: number
  /** How long a request waits for its turn. */
  waitMs: number
}

export interface ClonePlaces {
  /** Resolves, when it is this request's turn, to what gives the place back. `holder` is whoever asks. */
  take(holder: string, signal: AbortSignal): Promise<() => void>
  running(): number
  waiting(): number
}

/** For each place, so many may wait; more are refused at once. */
const WAITING_EACH = 20

interface Waiting {
  holder: string
  begin(): void
}

/**
 * Clones come in crowds (a build server starts fifty at once) and git does not try again when it is refused: so those that are
 * too many wait in line. Nobody has more than half of the places, so that one whose line is slow does not keep others out.
 */
export function clonePlaces({ max, waitMs }: ClonePlaceOptions): ClonePlaces {
  const each = Math.max(1, Math.ceil(max / 2))
  const held = new Map<string, number>()
  const line = new Set<Waiting>()
  let running = 0

  const isFree = (holder: string) => running < max && (held.get(holder) ?? 0) < each

  function begin(holder: string): () => void {
    running++
    held.set(holder, (held.get(holder) ?? 0) + 1)
    return () => {
      running--
      const left = held.get(holder)! - 1
      if (left > 0) held.set(holder, left)
      else held.delete(holder)
      for (const next of line) if (isFree(next.holder)) return next.begin()
    }
  }

  function wait(holder: string, signal: AbortSignal): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const leave = () => {
      line.delete(waiting)
      clearTimeout(bound)
      signal.removeEventListener('abort', giveUp)
    }
    const giveUp = () => {
      leave()
      reject(signal.reason)
    }
    const waiting: Waiting = {
      holder,
      begin() {
        leave()
        resolve(begin(holder))
      },
    }
    const bound = setTimeout(() => {
      leave()
      reject(tooManyClones())
    }, waitMs)
    line.add(waiting)
    signal.addEventListener('abort', giveUp, { once: true })
    return promise
  }

  return {
    async take(holder, signal) {
      signal.throwIfAborted()
      if (isFree(holder)) return begin(holder)
      if (line.size >= WAITING_EACH * max) throw tooManyClones()
      return wait(holder, signal)
    },
    running: () => running,
    waiting: () => line.size,
  }
}
