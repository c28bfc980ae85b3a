import { memoize } from '../lib/memoize.ts'
import { type Timing, weekdays } from './schedule.ts'

/** A week, and more than any change of the clocks. */
const MAX_DAYS = 9

/** Returns the first due time after a moment. */
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

/** How far the clocks of several machines may differ, or one may be set back, before a time counts as wrong. */
export const CLOCK_TOLERANCE_MS = 60_000

/**
 * Whether `nextRunAt` is later than the next due time. A clock that was wrong computed it then.
 */
export const isTooLate = (timing: Timing, nextRunAt: number, now: number): boolean =>
  nextRunAt > nextRun(timing, now + CLOCK_TOLERANCE_MS)

/** A local time, as a clock on the wall shows it. */
interface WallTime {
  year: number
  /** From 1. */
  month: number
  day: number
  hour: number
  minute: number
}

interface WallClock {
  /** Returns the local time at a moment in epoch milliseconds. */
  read(moment: number): WallTime
  /**
   * Returns the moment of a local time. If the clocks go back and it occurs twice, that is the first; if they go forward and it does not
   * occur, the first moment after it. Day 32 of a month of 31 days is the first of the next month.
   */
  momentOf(time: WallTime): number
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const MAX_CLOCKS = 100

/** Creating an `Intl.DateTimeFormat` is slow; using it is not. Throws a RangeError for an unknown time zone. */
const wallClock = memoize(MAX_CLOCKS, makeClock)

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

  /** The offset from UTC in milliseconds, in whole minutes. */
  const offsetAt = (moment: number): number =>
    inUtc(read(moment)) - Math.floor(moment / MINUTE) * MINUTE

  function momentOf(time: WallTime): number {
    const shown = inUtc(time)
    // The offset at that time is the one of a day before, or the one of a day after.
    const offsets = [offsetAt(shown - DAY), offsetAt(shown + DAY)]
    const moments = offsets.map((offset) => shown - offset).sort((a, b) => a - b)
    const found = moments.find((moment) => inUtc(read(moment)) === shown)
    return found ?? firstAfter(shown, moments[0]!, moments[1]!)
  }

  /** Between the two moments the clock skips that time. Returns the first minute after the change. */
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

/** Accepts `Europe/Zurich`, but not an offset such as `+01:00`, which knows no summer time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
