import { memoize } from '../lib/memoize.ts'
import { type Timing, weekdays } from './schedule.ts'

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

/** What the clock on the wall of a place shows. */
export interface WallTime {
  year: number
  /** From 1. */
  month: number
  day: number
  hour: number
  minute: number
}

export interface WallClock {
  /** What it shows at that moment, in epoch milliseconds. */
  read(moment: number): WallTime
  /**
   * When it shows that. Of a time that it shows twice, as clocks are put back, the first; of one that it never shows, as they are put
   * forward, the first moment after. A day of 32 is the first of the next month.
   */
  momentOf(time: WallTime): number
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** To make one takes long, to read it does not. */
const MAX_CLOCKS = 100

/** By the IANA name of its time zone. Throws a RangeError for one that nobody knows. */
export const wallClock = memoize(MAX_CLOCKS, makeClock)

function makeClock(timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-u-hc-h23', {
    timeZone,
    calendar: 'gregory',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' },
  })

  function read(moment: number): WallTime {
    const parts = format.formatToParts(moment).map(({ type, value }) => [type, Number(value)])
    const { year, month, day, hour, minute } = Object.fromEntries(parts) as WallTime
    return { year, month, day, hour, minute }
  }

  /** How far it is ahead of UTC, in whole minutes. */
  const aheadAt = (moment: number): number =>
    inUtc(read(moment)) - Math.floor(moment / MINUTE) * MINUTE

  function momentOf(time: WallTime): number {
    const shown = inUtc(time)
    // Whatever the clock is ahead by then, it was so a day before, or is so a day after.
    const offsets = [aheadAt(shown - DAY), aheadAt(shown + DAY)]
    const moments = offsets.map((ahead) => shown - ahead).sort((a, b) => a - b)
    const found = moments.find((moment) => inUtc(read(moment)) === shown)
    return found ?? firstAfter(shown, moments[0]!, moments[1]!)
  }

  /** Between the two moments it jumps over that time; the minute at which it has. */
  function firstAfter(shown: number, before: number, after: number): number {
    let [early, late] = [before - MINUTE, after]
    while (late - early > MINUTE) {
      const middle = early + Math.floor((late - early) / 2 / MINUTE) * MINUTE
      if (inUtc(read(middle)) < shown) early = middle
      else late = middle
    }
    return late
  }

  return { read, momentOf }
}

const inUtc = ({ year, month, day, hour, minute }: WallTime): number =>
  Date.UTC(year, month - 1, day, hour, minute)

/** `Europe/Zurich`, and no offset such as `+01:00`: clocks are put forward and back by name only. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
