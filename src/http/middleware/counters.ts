/** How often something happened within the window that its first time opened. */
export interface Count {
  times: number
  /** When the window ends, in epoch milliseconds. */
  endsAt: number
}

export interface Counters {
  /** Negative to take back. */
  add(key: string, by: number): Promise<Count>
  look(key: string): Promise<Count>
}

const SWEPT_FROM = 10_000

/** Of this process alone. */
export function countersInMemory(windowMs: number, now: () => number): Counters {
  const counts = new Map<string, Count>()
  let sweepAt = SWEPT_FROM

  function countOf(key: string): Count {
    const count = counts.get(key)
    return count && isOpen(count) ? count : { times: 0, endsAt: now() + windowMs }
  }

  /** A window that ends later than one that began now was opened before the clock was put back. */
  function isOpen({ endsAt }: Count): boolean {
    return endsAt > now() && endsAt <= now() + windowMs
  }

  function sweep(): void {
    for (const [key, count] of counts) if (!isOpen(count)) counts.delete(key)
    sweepAt = Math.max(SWEPT_FROM, 2 * counts.size)
  }

  return {
    async add(key, by) {
      const { times, endsAt } = countOf(key)
      // Another each time: whoever waits for theirs is told their own, not what was added meanwhile.
      const count = { times: Math.max(0, times + by), endsAt }
      counts.set(key, count)
      if (counts.size > sweepAt) sweep()
      return count
    },
    look: async (key) => countOf(key),
  }
}
