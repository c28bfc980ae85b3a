import { memoize } from '../../lib/memoize.ts'

/** Repositories' times: UTC, whole seconds, `Z`. */
export const utcTimestamp = (at: number): string => `${upToSecond(at)}Z`

export const timeOrNull = (at: number | null): string | null =>
  at === null ? null : utcTimestamp(at)

/** Offsets of zones change on the quarter of an hour, and never in between. */
const QUARTER_MS = 15 * 60_000
const DAY_MS = 24 * 60 * 60_000
const MAX_REMEMBERED = 10_000

const dateOf = memoize(MAX_REMEMBERED, (day: number) =>
  new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length),
)
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'))

/** As `toISOString` has it, up to the second; the date is made once for all times of its day. */
function upToSecond(at: number): string {
  const day = Math.floor(at / DAY_MS)
  const second = Math.floor((at - day * DAY_MS) / 1000)
  const hours = twoDigits[Math.floor(second / 3600)]!
  return `${dateOf(day)}${hours}:${twoDigits[Math.floor(second / 60) % 60]!}:${twoDigits[second % 60]!}`
}

interface Offset {
  shiftMs: number
  text: string
}

/** Migrations' times: whole seconds with the zone's numeric offset of that moment, `2026-11-14T09:30:00+01:00`. */
export function offsetTimestamps(timeZone: string): (at: number) => string {
  // Where no zone is asked about, Node need not load what it knows of zones: eight megabytes.
  if (timeZone === 'UTC') return (at) => `${upToSecond(at)}+00:00`
  const zone = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })

  const offsetOf = memoize(MAX_REMEMBERED, (quarter: number): Offset => {
    const name = zone
      .formatToParts(quarter * QUARTER_MS)
      .find((part) => part.type === 'timeZoneName')!.value
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? ['', '+', '00', '00']
    const shiftMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
    return { shiftMs, text: `${sign}${hours}:${minutes}` }
  })

  return (at) => {
    const { shiftMs, text } = offsetOf(Math.floor(at / QUARTER_MS))
    return upToSecond(at + shiftMs) + text
  }
}
