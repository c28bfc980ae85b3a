/** How often something happened within the window that its first time opened. */
export interface Count {
  times: number
  /** When the window ends, in epoch milliseconds. */
  endsAt: number
}

export interface Counters {
  /** Negative to take back. */
  add(key: string, by: number): Count | Promise<Count>
  look(key: string): Count | Promise<Count>
}

const SWEPT_FROM = 10_000

/** Of this process alone; nothing to wait for. */
export function countersInMemory(windowMs: number, now: () => number) {
  const counts = new Map<string, Count>()
  let sweepAt = SWEPT_FROM

  function look(key: string): Count {
    const count = counts.get(key)
    return count && count.endsAt > now() ? count : { times: 0, endsAt: now() + windowMs }
  }

  function add(key: string, by: number): Count {
    const count = look(key)
    count.times = Math.max(0, count.times + by)
    counts.set(key, count)
    if (counts.size > sweepAt) sweep()
    return count
  }

  function sweep(): void {
    for (const [key, { endsAt }] of counts) if (endsAt <= now()) counts.delete(key)
    sweepAt = Math.max(SWEPT_FROM, 2 * counts.size)
  }

  return { add, look }
}
