import { mapConcurrent } from '../lib/map-concurrent.ts'
import type { OutcomeLog } from '../migrations/log-outcome.ts'
import { CLOCK_TOLERANCE_MS, isTooLate, nextRun } from './next-run.ts'
import { type RunEnd, type RunParts, runDue } from './run-schedule.ts'
import { postponeSchedule } from './run-store.ts'
import type { Schedule } from './schedule.ts'
import { dueSchedules, schedulesDueBeyondPeriod } from './schedule-store.ts'

export interface DueParts extends RunParts {
  log: OutcomeLog
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
  await correctNextRuns(parts)
  const failed = new Set<number>()
  for (;;) {
    const time = now()
    const asked = { now: time, atMost: MAX_AT_ONCE + failed.size }
    const due = (await dueSchedules(db, asked)).filter(({ id }) => !failed.has(id))
    if (due.length === 0) return
    await mapConcurrent(due, { lanes: RUN_AT_ONCE }, async (schedule) => {
      await runOne(parts, schedule, time).catch((err: unknown) => {
        failed.add(schedule.id)
        log.error({ err, schedule: schedule.id }, `schedule ${schedule.id} could not run now`)
      })
    })
  }
}

/** After the clock was wrong for a while, a schedule would otherwise wait longer than its period. */
async function correctNextRuns({ db, now }: DueParts): Promise<void> {
  const time = now()
  for (const schedule of await schedulesDueBeyondPeriod(db, time + CLOCK_TOLERANCE_MS)) {
    if (isTooLate(schedule, schedule.nextRunAt, time))
      await postponeSchedule(db, schedule, nextRun(schedule, time))
  }
}

async function runOne(parts: DueParts, schedule: Schedule, time: number): Promise<void> {
  const end = await runDue(parts, schedule, nextRun(schedule, time))
  if (end) tell(parts.log, schedule, end)
}

/** A start has the line of any start; the rest is told as it is. */
function tell(log: OutcomeLog, schedule: Schedule, { migration, ...end }: RunEnd): void {
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
