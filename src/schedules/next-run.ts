import { type Timing, weekdays } from './schedule.ts'
import { wallClock } from './wall-clock.ts'

/** A week, and more than clocks are ever put forward or back. */
const MAX_DAYS = 9

/** The first time that is due after that moment. */
export function nextRun({ every, weekday, at, timeZone }: Timing, after: number): number {
  const clock = wallClock(timeZone)
  const { year, month, day } = clock.read(after)
  const [hour = 0, minute = 0] = at.split(':').map(Number)
  for (let days = 0; days <= MAX_DAYS; days++) {
    const isThatDay = every === 'day' || weekdayOf(year, month, day + days) === weekday
    const moment = isThatDay ? clock.momentOf({ year, month, day: day + days, hour, minute }) : 0
    if (moment > after) return moment
  }
  throw new Error(`no time is due within ${MAX_DAYS} days`)
}

const weekdayOf = (year: number, month: number, day: number) =>
  weekdays[new Date(Date.UTC(year, month - 1, day)).getUTCDay()]

/** How far clocks of several machines may differ, or one may be set back, before a time counts as wrong. */
export const CLOCK_TOLERANCE_MS = 60_000

/**
 * Whether a schedule would miss a time of its own by waiting for `nextRunAt`. That time was then computed by a clock that was
 * wrong.
 */
export const isTooLate = (timing: Timing, nextRunAt: number, now: number): boolean =>
  nextRunAt > nextRun(timing, now + CLOCK_TOLERANCE_MS)
