import type { Db } from '../db/database.ts'
import type { Backlog, Queue } from '../queue/queue.ts'
import { DEAD_AFTER_MS, listWorkers, type WorkerRecord } from '../queue/worker-store.ts'
import { type CheckResults, readChecks } from '../repositories/check-store.ts'
import { countArchives } from './archive-store.ts'
import { countAllHeldLocks, type HeldLock, newestLocks } from './lock-store.ts'
import type { ShownState } from './migration.ts'
import { notExportedFrom } from './outcome-store.ts'
import { countSegments } from './segment-store.ts'
import { bytesOfUnusedSegments } from './segment-sweep.ts'
import { faultySummaries, largestArchives, type Summary, unfinishedSummaries } from './summaries.ts'
import { countUnfinishedByState, readTallies, type Tally, talliesSince } from './tally-store.ts'

const MAX_RUNNING = 20
const MAX_FAILURES = 20
const MAX_NOT_EXPORTED = 5
const MAX_LOCKS = 50
const MAX_ARCHIVES = 20
const MAX_CHECKS = 20

/** The state of the service for its operator. The cost to read it does not grow with the number of old migrations. */
export interface ServiceState {
  observedAt: number
  migrations: Record<ShownState, number>
  running: Summary[]
  backlog: Backlog[]
  throughput: Throughput
  locks: { held: number; newest: HeldLock[] }
  failures: Failure[]
  workers: (WorkerRecord & { isAlive: boolean })[]
  /** The largest archives. */
  archives: Summary[]
  checks: CheckResults
}

/** A migration that failed or was exported in part. */
interface Failure {
  migration: Summary
  notExported: { fullName: string; reason: string }[]
}

interface StateParts {
  db: Db
  queue: Queue
  now: () => number
}

export async function readServiceState(
  { db, queue, now }: StateParts,
  period: ThroughputPeriod,
): Promise<ServiceState> {
  const observedAt = now()
  const [
    migrations,
    running,
    backlog,
    throughput,
    held,
    newest,
    failures,
    workers,
    archives,
    checks,
  ] = await Promise.all([
    countByState(db),
    unfinishedSummaries(db, MAX_RUNNING),
    queue.backlog(),
    throughputOver(db, period, observedAt),
    countAllHeldLocks(db),
    newestLocks(db, MAX_LOCKS),
    recentFailures(db),
    listWorkers(db),
    largestArchives(db, MAX_ARCHIVES),
    readChecks(db, MAX_CHECKS),
  ])
  const isAlive = ({ seenAt }: WorkerRecord) => observedAt - seenAt < DEAD_AFTER_MS
  return {
    observedAt,
    migrations,
    running,
    backlog,
    throughput,
    locks: { held, newest },
    failures,
    workers: workers.map((worker) => ({ ...worker, isAlive: isAlive(worker) })),
    archives,
    checks,
  }
}

async function countByState(db: Db): Promise<ServiceState['migrations']> {
  const unfinished = await countUnfinishedByState(db)
  const tallies = new Map((await readTallies(db)).map(({ name, count }) => [name, count]))
  return {
    pending: unfinished.get('pending') ?? 0,
    exporting: unfinished.get('exporting') ?? 0,
    exported: tallies.get('migrations exported') ?? 0,
    failed: tallies.get('migrations failed') ?? 0,
    cancelled: tallies.get('migrations cancelled') ?? 0,
  }
}

async function recentFailures(db: Db): Promise<Failure[]> {
  const faulty = await faultySummaries(db, MAX_FAILURES)
  return Promise.all(
    faulty.map(async (migration) => ({
      migration,
      notExported: await notExportedFrom(db, migration, MAX_NOT_EXPORTED),
    })),
  )
}

const MINUTE = 60_000

export const throughputPeriods = ['hour', 'day', 'week'] as const
export type ThroughputPeriod = (typeof throughputPeriods)[number]

/** Few enough to draw, and never finer than the stored minutes. */
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
  count: Record<Tally, number>
  bytes: Record<Tally, number>
}

/** Returns every bucket of the period, oldest first; the last one is still filling. */
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
    count: noTallies(),
    bytes: noTallies(),
  }))
  for (const { bucket, name, count: added, bytes } of await talliesSince(db, first, ms)) {
    const into = buckets[(bucket - first) / ms]
    if (!into) continue
    into.count[name] = added
    into.bytes[name] = bytes
  }
  return { period, bucketMs: ms, buckets }
}

const noTallies = (): Record<Tally, number> => ({
  'repositories exported': 0,
  'repositories reused': 0,
  'repositories skipped': 0,
  'repositories failed': 0,
  'migrations exported': 0,
  'migrations failed': 0,
  'migrations cancelled': 0,
})

/** The bytes in the store. A segment counts once, however many archives contain it. */
export interface StorageUse {
  segments: number
  archives: number
  /** Segments that an archive or an unfinished migration uses, and composed archives. */
  archiveBytes: number
  /** Segments that are kept only to be reused. */
  reuseBytes: number
}

/** Finding unused segments reads the segment lists of all archives, so the result is cached. */
const UNUSED_CACHE_MS = 60_000

/** Each process looks for unused segments at most once a minute; the other numbers are current. */
export function storageUse({ db, now }: { db: Db; now: () => number }): () => Promise<StorageUse> {
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
      archiveBytes: segments.bytes - reuseBytes + archives.wholeBytes,
      reuseBytes,
    }
  }
}
