import type { Pool } from 'pg'
import type { Soon } from '../../db/soon.ts'
import { countTogether } from './count-together.ts'

/** How often something happened within the window that its first time opened. */
export interface Count {
  times: number
  /** When the window ends, in epoch milliseconds. */
  endsAt: number
}

export interface Counters {
  /** Negative to take back. */
  add(key: string, by: number): Soon<Count>
  look(key: string): Soon<Count>
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

  return { add, look } satisfies Counters
}

/** Of all processes on one PostgreSQL together. */
export function countersInPostgres(windowMs: number, now: () => number, pool: Pool): Counters {
  // Loaded only here: a process that is alone counts for itself.
  const store = import('rate-limiter-flexible').then(
    ({ RateLimiterPostgres }) =>
      new RateLimiterPostgres({
        keyPrefix: 'account',
        // What is too much is decided by whoever asks.
        points: Number.MAX_SAFE_INTEGER,
        duration: windowMs / 1000,
        storeClient: pool,
        tableName: 'rate_limits',
        tableCreated: true,
      }),
  )
  const countOf = (found: { consumedPoints: number; msBeforeNext: number } | null): Count => ({
    times: Math.max(0, found?.consumedPoints ?? 0),
    endsAt: now() + (found?.msBeforeNext ?? windowMs),
  })
  return {
    add: countTogether(async (key, by) => countOf(await (await store).penalty(key, by))),
    look: async (key) => countOf(await (await store).get(key)),
  }
}
