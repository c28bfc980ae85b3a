import type { Schedule } from '../wire.ts'

type Timing = Pick<Schedule, 'every' | 'weekday' | 'at' | 'time_zone'>

/** `Every Sunday at 03:30 (Europe/Zurich)`. */
export function timingInWords({ every, weekday, at, time_zone }: Timing): string {
  return `Every ${weekday ? capital(weekday) : every} at ${at} (${time_zone})`
}

export const capital = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`

/**
 * The same moment by two clocks: the viewer's and the schedule's. One, where they show the same, or where the browser does not
 * know the time zone, as the server does.
 */
export function momentByBothClocks(at: string, timeZone: string): string {
  const here = inZone(at, undefined)
  const there = isKnownHere(timeZone) ? inZone(at, timeZone) : here
  return here === there ? here : `${here} your time, ${there} in ${timeZone}`
}

function isKnownHere(timeZone: string): boolean {
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

export const timeZoneHere = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone
