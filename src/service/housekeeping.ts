import { sweepSessions } from '../accounts/session-store.ts'
import { acquireLease, type Lease, renewLease } from '../db/lease-store.ts'
import { checkStore } from '../exporter/check-segments.ts'
import { sweepScratch } from '../exporter/scratch.ts'
import { sweepArchives, sweepOrphans, sweepSegments } from '../exporter/sweep.ts'
import { type Repeated, repeatedly } from '../lib/repeatedly.ts'
import { settleReleasedLocks } from '../migrations/locks.ts'
import { sweepFacts } from '../migrations/snapshot-store.ts'
import { sweepHistory } from '../migrations/sweep-history.ts'
import { sweepDiscussions } from '../repositories/discussion-store.ts'
import { keepArchives } from '../schedules/keep-archives.ts'
import { runDueSchedules } from '../schedules/run-schedule.ts'
import type { Source } from '../sources/source.ts'
import { sweepDeliveries } from '../webhooks/delivery-store.ts'
import type { ProcessParts } from './process-parts.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Scratch files of a process that lives are younger. */
export const SCRATCH_TTL_MS = 2 * DAY

type House = ProcessParts & { source: Source }

export interface HousekeepingOptions {
  segmentTtlMs: number
  segmentCheckAgeMs: number
  archiveTtlMs: number
  lockTtlMs: number
  migrationHistoryMs: number
  maxUnfinished: number
}

/** Often enough to free what was not used for so long, and no more often than every minute. */
const segmentSweepMs = ({ segmentTtlMs }: HousekeepingOptions): number =>
  Math.min(HOUR, Math.max(MINUTE, segmentTtlMs / 24))

/** Expiry, locks and sweeping: done by one process at a time, however many there are; scratch space is each one's own. */
export function startHousekeeping(parts: House, rules: HousekeepingOptions): Repeated {
  const { db, isOnlyProcess, now, log, places } = parts

  const repeat = (name: string, everyMs: number, task: () => Promise<void>) =>
    repeatedly(task, everyMs, (err) => log.error({ err }, `${name} failed`))

  const inTurn = (name: string, everyMs: number, task: (lease?: Lease) => Promise<void>) =>
    repeat(name, everyMs, async () => {
      const lease = isOnlyProcess
        ? undefined
        : await acquireLease(db, { name, ttlMs: everyMs, now: now() })
      if (!isOnlyProcess && !lease) return
      log.debug({ housekeeping: name }, 'housekeeping task started')
      await task(lease)
    })

  const stopping = new AbortController()
  const tasks = [
    inTurn('settling locks', MINUTE, () => settleReleasedLocks(parts)),
    inTurn('sweeping', MINUTE, async () => {
      // First: what a schedule keeps does not expire.
      await keepArchives({ ...parts, ...rules })
      await sweepArchives({ ...parts, ...rules })
    }),
    inTurn('sweeping segments', segmentSweepMs(rules), () => sweepSegments({ ...parts, ...rules })),
    inTurn('running schedules', 15 * SECOND, async () => {
      // Before, a repository might look as if it were gone.
      if (parts.isCatalogueRead()) await runDueSchedules({ ...parts, ...rules })
    }),
    inTurn('sweeping sessions', HOUR, () => sweepSessions(db, now())),
    inTurn('sweeping webhook deliveries', HOUR, () => sweepDeliveries(db, now())),
    inTurn('sweeping history', HOUR, async () => {
      const removed = await sweepHistory({ ...parts, ...rules })
      if (removed > 0) log.info({ migrations: removed }, 'old migrations removed')
    }),
    inTurn('sweeping facts', DAY, async () => void (await sweepFacts(db, now()))),
    inTurn('sweeping discussions', DAY, () => sweepDiscussions(db, now)),
    inTurn('checking stored data', MINUTE, async (lease) => {
      // A large segment takes longer than a minute: no other process begins meanwhile.
      const renewal =
        lease && setInterval(() => renewLease(db, lease, now()).catch(() => {}), RENEW_INTERVAL_MS)
      await checkSome(parts, rules, stopping.signal).finally(() => clearInterval(renewal))
    }),
    inTurn('sweeping orphans', HOUR, () => sweepOrphans(parts, DAY)),
    repeat('sweeping scratch', HOUR, () => sweepScratch(places.scratch, SCRATCH_TTL_MS)),
  ]
  return {
    async stop() {
      stopping.abort()
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}

/** Of stored data in one turn: about 2.6 TB a week, read at a speed that leaves the disk and the network to others. */
const CHECKED_AT_ONCE = { bytes: 256 * 2 ** 20, blobs: 1000 }
const CHECKED_BYTES_PER_SECOND = 16 * 2 ** 20

const RENEW_INTERVAL_MS = 20 * SECOND

/** Reads again some of what was not read for long. */
async function checkSome(
  parts: House,
  { segmentCheckAgeMs }: HousekeepingOptions,
  signal: AbortSignal,
): Promise<void> {
  const order = {
    before: parts.now() - segmentCheckAgeMs,
    bytesPerSecond: CHECKED_BYTES_PER_SECOND,
  }
  let [bytes, blobs] = [0, 0]
  try {
    for await (const checked of checkStore(parts, order, signal)) {
      bytes += checked.bytes
      blobs += 1
      if (bytes >= CHECKED_AT_ONCE.bytes || blobs >= CHECKED_AT_ONCE.blobs) return
    }
  } catch (error) {
    // What was called off is checked another time.
    if (!signal.aborted) throw error
  }
}
