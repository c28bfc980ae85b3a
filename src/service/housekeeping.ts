import { sweepSessions } from '../accounts/session-store.ts'
import { sweepScratch } from '../exporter/scratch.ts'
import { sweepArchives, sweepOrphans, sweepSegments } from '../exporter/sweep.ts'
import { type Repeated, repeatedly } from '../ground/repeatedly.ts'
import { settleReleasedLocks } from '../migrations/locks.ts'
import { sweepFacts } from '../migrations/snapshot-store.ts'
import { sweepHistory } from '../migrations/sweep-history.ts'
import { takeTurn } from '../queue/turn-store.ts'
import { sweepDiscussions } from '../repositories/discussion-store.ts'
import { runDueSchedules } from '../schedules/due-schedules.ts'
import { keepArchives } from '../schedules/keep-archives.ts'
import type { Source } from '../sources/source.ts'
import { sweepDeliveries } from '../webhooks/sweep-deliveries.ts'
import type { ProcessParts } from './process-parts.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Scratch files of a process that lives are younger. */
export const SCRATCH_TTL_MS = 2 * DAY

type House = ProcessParts & { source: Source }

export interface HouseRules {
  segmentTtlMs: number
  archiveTtlMs: number
  lockTtlMs: number
  migrationHistoryMs: number
  maxUnfinished: number
}

/** Often enough to free what was not used for so long, and no more often than every minute. */
const segmentSweepMs = ({ segmentTtlMs }: HouseRules): number =>
  Math.min(HOUR, Math.max(MINUTE, segmentTtlMs / 24))

/** Expiry, locks and sweeping: done by one process at a time, however many there are; scratch space is each one's own. */
export function startHousekeeping(parts: House, rules: HouseRules): Repeated {
  const { db, isOnlyProcess, now, log, places } = parts

  const repeat = (name: string, everyMs: number, task: () => Promise<void>) =>
    repeatedly(task, everyMs, (err) => log.error({ err }, `${name} failed`))

  const inTurn = (name: string, everyMs: number, task: () => Promise<void>) =>
    repeat(name, everyMs, async () => {
      const isOurs = isOnlyProcess || (await takeTurn(db, { name, everyMs, now: now() }))
      if (!isOurs) return
      log.debug({ housekeeping: name }, 'housekeeping task started')
      await task()
    })

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
    inTurn('sweeping orphans', HOUR, () => sweepOrphans(parts, DAY)),
    repeat('sweeping scratch', HOUR, () => sweepScratch(places.scratch, SCRATCH_TTL_MS)),
  ]
  return {
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()))
    },
  }
}
