/** In the order of `Date.getDay`. */
const weekdays = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const
/** When a schedule runs, in local time. */
export interface Timing {
  every: 'day' | 'week'
  /** Null if it runs every day. */
  weekday: (typeof weekdays)[number] | null
  /** `03:30`. */
  at: string
  /** IANA name. */
  timeZone: string
}

/** A week, and more than any change of the clocks. */
const MAX_DAYS = 9

/** Returns the first due time after a moment. Both are epoch milliseconds. Throws a RangeError for an unknown time zone. */
export function nextRun({ every, weekday, at, timeZone }: Timing, after: number): number {
  const today = Temporal.Instant.fromEpochMilliseconds(after)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
  for (let days = 0; days <= MAX_DAYS; days++) {
    const date = today.add({ days })
    // The first day of `weekdays` is Sunday, and day 7 of Temporal.
    if (every === 'week' && weekdays[date.dayOfWeek % 7] !== weekday) continue
    const moment = momentOf(date.toPlainDateTime(at), timeZone)
    if (moment > after) return moment
  }
  throw new Error(`no time is due within ${MAX_DAYS} days`)
}

/**
 * Returns the moment of a local time. If the clocks go back and it occurs twice, that is the first; if they go forward and it does not
 * occur, the first moment after it.
 */
function momentOf(local: Temporal.PlainDateTime, timeZone: string): number {
  const zoned = local.toZonedDateTime(timeZone, { disambiguation: 'compatible' })
  if (zoned.toPlainDateTime().equals(local)) return zoned.epochMilliseconds
  // The moment itself may be that of the change, which is not before it.
  return zoned.add({ milliseconds: 1 }).getTimeZoneTransition('previous')!.epochMilliseconds
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
