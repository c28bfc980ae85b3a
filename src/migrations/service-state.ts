import type { Db } from '../db/database.ts'
import type { Backlog, Queue } from '../queue/queue.ts'
import { listWorkers, SILENT_MS, type WorkerRecord } from '../queue/worker-store.ts'
import { type CheckResults, readChecks } from '../repositories/check-store.ts'
import { countAllHeldLocks, type HeldLock, newestLocks } from './lock-store.ts'
import { notExportedFrom } from './outcome-store.ts'
import type { ShownState } from './states.ts'
import { faultySummaries, largestArchives, type Summary, unfinishedSummaries } from './summaries.ts'
import { countUnfinishedByState, readTallies } from './tally-store.ts'
import { type Throughput, type ThroughputPeriod, throughputOver } from './throughput.ts'

const MAX_RUNNING = 20
const MAX_FAILURES = 20
const MAX_NOT_EXPORTED = 5
const MAX_LOCKS = 50
const MAX_ARCHIVES = 20
const MAX_CHECKS = 20

/** The whole service at one moment, for its operator. Nothing here costs more for every migration there ever was. */
export interface ServiceState {
  observedAt: number
  migrations: Record<ShownState, number>
  running: Summary[]
  backlog: Backlog[]
  throughput: Throughput
  locks: { held: number; newest: HeldLock[] }
  failures: Failure[]
  workers: (WorkerRecord & { isAlive: boolean })[]
  /** The largest there are to download. */
  archives: Summary[]
  checks: CheckResults
}

/** A migration that failed, or lacks something. */
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
  const isAlive = ({ seenAt }: WorkerRecord) => observedAt - seenAt < SILENT_MS
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
