import type { Db } from '../db/database.ts'
import { DEAD_AFTER_MS, listProcesses } from '../queue/process-store.ts'
import type { Queue } from '../queue/queue.ts'
import { readChecks } from '../repositories/repository-check-store.ts'
import { countArchives } from './archive-store.ts'
import { countAllHeldLocks, newestLocks } from './lock-store.ts'
import type { ShownState } from './migration.ts'
import {
  COUNTED_OUTCOMES,
  type CountedOutcome,
  countUnfinishedByState,
  outcomeCountsSince,
  readOutcomeCounts,
} from './outcome-counts.ts'
import { notExportedFrom } from './outcome-store.ts'
import { countSegments } from './segment-store.ts'
import { bytesOfUnusedSegments } from './segment-sweep.ts'
import { failedOrPartialSummaries, largestArchives, unfinishedSummaries } from './summaries.ts'

const MAX_RUNNING = 20
const MAX_FAILURES = 20
const MAX_NOT_EXPORTED = 5
const MAX_LOCKS = 50
const MAX_ARCHIVES = 20
const MAX_CHECKS = 20

export type ServiceState = Awaited<ReturnType<typeof readServiceState>>

/** Reads the state of the service for its operator. The cost does not grow with the number of old migrations. */
export async function readServiceState(
  { db, queue, now }: { db: Db; queue: Queue; now: () => number },
  period: ThroughputPeriod,
) {
  const observedAt = now()
  const state = await allOf({
    migrations: countByState(db),
    running: unfinishedSummaries(db, MAX_RUNNING),
    backlog: queue.backlog(),
    throughput: throughputOver(db, period, observedAt),
    locks: allOf({ held: countAllHeldLocks(db), newest: newestLocks(db, MAX_LOCKS) }),
    failures: recentFailures(db),
    workers: readWorkers(db, observedAt),
    archives: largestArchives(db, MAX_ARCHIVES),
    checks: readChecks(db, MAX_CHECKS),
  })
  return { observedAt, ...state }
}

/** Awaits the fields of an object, as `Promise.all` does those of a list. */
export async function allOf<T extends object>(
  fields: T,
): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const entries = Object.entries(fields).map(async ([name, value]) => [name, await value])
  return Object.fromEntries(await Promise.all(entries))
}

async function readWorkers(db: Db, now: number) {
  const workers = await listProcesses(db)
  return workers.map((each) => ({ ...each, isAlive: now - each.seenAt < DEAD_AFTER_MS }))
}

async function countByState(db: Db): Promise<Record<ShownState, number>> {
  const unfinished = await countUnfinishedByState(db)
  const outcomeCounts = new Map(
    (await readOutcomeCounts(db)).map(({ name, count }) => [name, count]),
  )
  return {
    pending: unfinished.get('pending')?.count ?? 0,
    exporting: unfinished.get('exporting')?.count ?? 0,
    exported: outcomeCounts.get('migrations exported') ?? 0,
    failed: outcomeCounts.get('migrations failed') ?? 0,
    cancelled: outcomeCounts.get('migrations cancelled') ?? 0,
  }
}

/** Returns migrations that failed or were partly exported, and the first repositories that each could not export. */
async function recentFailures(db: Db) {
  const failures = await failedOrPartialSummaries(db, MAX_FAILURES)
  return Promise.all(
    failures.map(async (migration) => ({
      migration,
      notExported: await notExportedFrom(db, migration, MAX_NOT_EXPORTED),
    })),
  )
}

const MINUTE = 60_000

export const throughputPeriods = ['hour', 'day', 'week'] as const
type ThroughputPeriod = (typeof throughputPeriods)[number]

/** Few enough to draw, and never finer than the stored minutes. */
const BUCKETS: Record<ThroughputPeriod, { count: number; ms: number }> = {
  hour: { count: 60, ms: MINUTE },
  day: { count: 96, ms: 15 * MINUTE },
  week: { count: 84, ms: 120 * MINUTE },
}

/** Returns every bucket of the period, oldest first. The last bucket is the current one. */
async function throughputOver(db: Db, period: ThroughputPeriod, now: number) {
  const { count, ms } = BUCKETS[period]
  const last = now - (now % ms)
  const first = last - (count - 1) * ms
  const buckets = Array.from({ length: count }, (_, index) => ({
    startedAt: first + index * ms,
    count: zeroCounts(),
    bytes: zeroCounts(),
  }))
  for (const { bucket, name, count: added, bytes } of await outcomeCountsSince(db, first, ms)) {
    const into = buckets[(bucket - first) / ms]
    if (!into) continue
    into.count[name] = added
    into.bytes[name] = bytes
  }
  return { period, bucketMs: ms, buckets }
}

const zeroCounts = () =>
  Object.fromEntries(COUNTED_OUTCOMES.map((name) => [name, 0])) as Record<CountedOutcome, number>

/** The bytes in the store. A segment counts once, however many archives contain it. */
export type StorageUse = Awaited<ReturnType<ReturnType<typeof createStorageUseReader>>>

/** The search for unused segments is cached, because it reads the segment lists of all archives. */
const UNUSED_CACHE_MS = 60_000

/**
 * Returns a function that reads the storage use. It searches for unused segments at most once a minute; the other numbers are
 * current.
 */
export function createStorageUseReader({ db, now }: { db: Db; now: () => number }) {
  let unused: { bytes: Promise<number>; readAt: number } | undefined
  return async () => {
    if (!unused || Math.abs(now() - unused.readAt) > UNUSED_CACHE_MS) {
      unused = { bytes: bytesOfUnusedSegments(db), readAt: now() }
      unused.bytes.catch(() => {
        unused = undefined
      })
    }
    const [segments, archives, unusedBytes] = await Promise.all([
      countSegments(db),
      countArchives(db),
      unused.bytes,
    ])
    const reuseBytes = Math.min(unusedBytes, segments.bytes)
    return {
      segments: segments.count,
      archives: archives.count,
      /** Segments that an archive or an unfinished migration uses, and composed archives. */
      archiveBytes: segments.bytes - reuseBytes + archives.composedBytes,
      /** Segments that are kept only to be reused. */
      reuseBytes,
    }
  }
}
