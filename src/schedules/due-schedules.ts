import { inLanes } from '../ground/lanes.ts'
import type { EndLog } from '../migrations/tell-end.ts'
import { LONGEST_WAIT_MS, nextRun } from './next-run.ts'
import { type RunEnd, type RunParts, runDue } from './run-schedule.ts'
import { putOffSchedule } from './run-store.ts'
import type { Schedule } from './schedule.ts'
import { dueSchedules } from './schedule-store.ts'

export interface DueParts extends RunParts {
  log: EndLog
}

/** In one look; the next looks for the others. */
const MAX_AT_ONCE = 100
/** Git and locks are waited for. */
const RUN_AT_ONCE = 4

/**
 * Runs every schedule whose time has come. Times that were missed while nobody looked are made up for by one run. One that cannot
 * be run now stays due, and keeps none of the others from running.
 */
export async function runDueSchedules(parts: DueParts): Promise<void> {
  const { db, now, log } = parts
  const failed = new Set<number>()
  for (;;) {
    const time = now()
    const asked = { now: time, tooFar: time + LONGEST_WAIT_MS, atMost: MAX_AT_ONCE + failed.size }
    const due = (await dueSchedules(db, asked)).filter(({ id }) => !failed.has(id))
    if (due.length === 0) return
    await inLanes(due, { lanes: RUN_AT_ONCE }, async (schedule) => {
      await runOne(parts, schedule, time).catch((err: unknown) => {
        failed.add(schedule.id)
        log.error({ err, schedule: schedule.id }, `schedule ${schedule.id} could not run now`)
      })
    })
  }
}

async function runOne(parts: DueParts, schedule: Schedule, time: number): Promise<void> {
  const next = nextRun(schedule, time)
  // Noted by a clock that was wrong.
  if (schedule.nextRunAt > time) return putOffSchedule(parts.db, schedule, next)
  const end = await runDue(parts, schedule, next)
  if (end) tell(parts.log, schedule, end)
}

/** A start has the line of any start; the rest is told as it is. */
function tell(log: EndLog, schedule: Schedule, { migration, ...end }: RunEnd): void {
  const { id, owner, maker } = schedule
  const by = { schedule: id, owner: owner.login, login: maker.login }
  const { outcome, reason, skipped, isStopped = false } = end
  if (migration) {
    const about = { audit: 'migration.start', ...by, migration: migration.id, guid: migration.guid }
    log.info(about, 'migration.start')
    if (skipped.length > 0) log.warn({ ...by, skipped }, `schedule ${id} skipped repositories`)
    return
  }
  const words = isStopped ? 'is stopped' : outcome === 'skipped' ? 'skipped a run' : 'failed'
  log.warn({ ...by, outcome, reason }, `schedule ${id} of ${owner.login} ${words}: ${reason}`)
}
