import type { Db } from '../db/database.ts'
import { type Tally, talliesSince } from './tally-store.ts'

const MINUTE = 60_000

export const throughputPeriods = ['hour', 'day', 'week'] as const
export type ThroughputPeriod = (typeof throughputPeriods)[number]

/** Few enough to draw, and never finer than what is kept. */
const BUCKETS: Record<ThroughputPeriod, { count: number; ms: number }> = {
  hour: { count: 60, ms: MINUTE },
  day: { count: 96, ms: 15 * MINUTE },
  week: { count: 84, ms: 120 * MINUTE },
}

export interface Throughput {
  period: ThroughputPeriod
  bucketMs: number
  buckets: ThroughputBucket[]
}

export interface ThroughputBucket {
  startedAt: number
  /** What ended in that time, by what it was. */
  count: Record<Tally, number>
  bytes: Record<Tally, number>
}

/** Every bucket of the period, the oldest first; the last one is still filling. */
export async function throughputOver(
  db: Db,
  period: ThroughputPeriod,
  now: number,
): Promise<Throughput> {
  const { count, ms } = BUCKETS[period]
  const last = now - (now % ms)
  const first = last - (count - 1) * ms
  const buckets = Array.from({ length: count }, (_, index) => ({
    startedAt: first + index * ms,
    count: none(),
    bytes: none(),
  }))
  for (const { bucket, name, count: some, bytes } of await talliesSince(db, first, ms)) {
    const into = buckets[(bucket - first) / ms]
    if (!into) continue
    into.count[name] = some
    into.bytes[name] = bytes
  }
  return { period, bucketMs: ms, buckets }
}

const none = (): Record<Tally, number> => ({
  'repositories exported': 0,
  'repositories reused': 0,
  'repositories skipped': 0,
  'repositories failed': 0,
  'migrations exported': 0,
  'migrations failed': 0,
  'migrations cancelled': 0,
})
