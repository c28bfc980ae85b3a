import type { Schedule } from '../api-types.ts'

type Timing = Pick<Schedule, 'every' | 'weekday' | 'at' | 'time_zone'>

/** Returns `Every Sunday at 03:30 (Europe/Zurich)`. */
export function formatTiming({ every, weekday, at, time_zone }: Timing): string {
  return `Every ${weekday ? capital(weekday) : every} at ${at} (${time_zone})`
}

export const capital = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`

/**
 * Formats a time in the user's time zone and in that of the schedule. It shows only one if both are the same, or if the
 * browser does not know the time zone.
 */
export function formatInBothZones(at: string, timeZone: string): string {
  const local = inZone(at, undefined)
  const zoned = isKnownZone(timeZone) ? inZone(at, timeZone) : local
  return local === zoned ? local : `${local} your time, ${zoned} in ${timeZone}`
}

function isKnownZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }) !== undefined
  } catch {
    return false
  }
}

function inZone(at: string, timeZone: string | undefined): string {
  const format = new Intl.DateTimeFormat('en', {
    ...{ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
    hourCycle: 'h23',
    ...(timeZone !== undefined && { timeZone }),
  })
  return format.format(new Date(at))
}

export const localTimeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone
