import { memoize } from '../lib/memoize.ts'
import { type Timing, weekdays } from './schedule.ts'

/** A week, and more than any change of the clocks. */
const MAX_DAYS = 9

/** Returns the first due time after a moment. Both are epoch milliseconds. */
export function nextRun({ every, weekday, at, timeZone }: Timing, after: number): number {
  const { year, month, day } = localTimeAt(after, timeZone)
  const [hour = 0, minute = 0] = at.split(':').map(Number)
  for (let days = 0; days <= MAX_DAYS; days++) {
    const local = { year, month, day: day + days, hour, minute }
    if (every === 'week' && weekdayOf(local) !== weekday) continue
    const moment = momentOf(local, timeZone)
    if (moment > after) return moment
  }
  throw new Error(`no time is due within ${MAX_DAYS} days`)
}

interface LocalTime {
  year: number
  /** From 1. */
  month: number
  /** Day 32 of a month of 31 days is the first of the next month. */
  day: number
  hour: number
  minute: number
}

const weekdayOf = (local: LocalTime) => weekdays[new Date(asIfInUtc(local)).getUTCDay()]

const asIfInUtc = ({ year, month, day, hour, minute }: LocalTime): number =>
  Date.UTC(year, month - 1, day, hour, minute)

const MAX_FORMATS = 100

/** Creating an `Intl.DateTimeFormat` is slow; using it is not. Throws a RangeError for an unknown time zone. */
const formatFor = memoize(
  MAX_FORMATS,
  (timeZone: string) =>
    new Intl.DateTimeFormat('en-u-hc-h23', {
      timeZone,
      calendar: 'gregory',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    }),
)

function localTimeAt(moment: number, timeZone: string): LocalTime {
  const parts = formatFor(timeZone).formatToParts(moment)
  const numbers = parts.map(({ type, value }) => [type, Number(value)])
  return Object.fromEntries(numbers) as LocalTime
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/**
 * Returns the moment of a local time. If the clocks go back and it occurs twice, that is the first; if they go forward and it does not
 * occur, the first moment after it.
 */
function momentOf(local: LocalTime, timeZone: string): number {
  const wanted = asIfInUtc(local)
  const localAt = (moment: number) => asIfInUtc(localTimeAt(moment, timeZone))
  const offsetAt = (moment: number) => localAt(moment) - Math.floor(moment / MINUTE) * MINUTE
  // The offset from UTC is that of a day before or that of a day after.
  const offsets = [offsetAt(wanted - DAY), offsetAt(wanted + DAY)]
  const moments = offsets.map((offset) => wanted - offset).sort((a, b) => a - b)
  const found = moments.find((moment) => localAt(moment) === wanted)
  if (found !== undefined) return found
  // The clocks skip the time between the two moments: search for the minute of the change.
  let [before, after] = [moments[0]! - MINUTE, moments[1]!]
  while (after - before > MINUTE) {
    const middle = before + Math.floor((after - before) / 2 / MINUTE) * MINUTE
    if (localAt(middle) < wanted) before = middle
    else after = middle
  }
  return after
}

/** Accepts `Europe/Zurich`, but not an offset such as `+01:00`, which knows no summer time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
