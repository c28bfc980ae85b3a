import { memoize } from '../../lib/memoize.ts'
import type { Addresses } from '../../repositories/addresses.ts'

/** The settings that renderers of JSON need in addition to the data. */
export interface Rendering {
  addresses: Addresses
  migrationTime: (at: number) => string
  /** Changes whenever the same facts would be rendered differently. Part of every ETag. */
  edition: string
}

/** Returns GitHub's global identifier in its old form, base64 of `010:Repository1296269`. */
export function nodeId(type: string, id: number | string): string {
  const text = `0${type.length}:${type}${id}`
  // `btoa` is faster, but fails for the characters that a licence's key may have.
  return typeof id === 'number' ? btoa(text) : Buffer.from(text).toString('base64')
}

/** Formats a time of a repository: UTC in whole seconds, `2026-11-14T08:30:00Z`. */
export const utcTimestamp = (at: number): string => `${formatToSecond(at)}Z`

export const utcTimestampOrNull = (at: number | null): string | null =>
  at === null ? null : utcTimestamp(at)

/** The offset of a time zone changes only at a quarter of an hour. */
const QUARTER_MS = 15 * 60_000
const DAY_MS = 24 * 60 * 60_000
const MAX_CACHED = 10_000

const dateOf = memoize(MAX_CACHED, (day: number) =>
  new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length),
)
const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'))

/** Like `toISOString` up to the second. The date is cached for all times of a day. */
function formatToSecond(at: number): string {
  const day = Math.floor(at / DAY_MS)
  const second = Math.floor((at - day * DAY_MS) / 1000)
  const hours = twoDigits[Math.floor(second / 3600)]!
  return `${dateOf(day)}${hours}:${twoDigits[Math.floor(second / 60) % 60]!}:${twoDigits[second % 60]!}`
}

/** Returns a function that formats times of migrations: whole seconds with the offset of the zone, `2026-11-14T09:30:00+01:00`. */
export function offsetTimestamps(timeZone: string): (at: number) => string {
  // UTC needs no `Intl`, whose time zone data takes 8 MB.
  if (timeZone === 'UTC') return (at) => `${formatToSecond(at)}+00:00`
  const zone = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })

  const offsetOf = memoize(MAX_CACHED, (quarter: number) => {
    const name = zone
      .formatToParts(quarter * QUARTER_MS)
      .find((part) => part.type === 'timeZoneName')!.value
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? ['', '+', '00', '00']
    const shiftMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
    return { shiftMs, text: `${sign}${hours}:${minutes}` }
  })

  return (at) => {
    const { shiftMs, text } = offsetOf(Math.floor(at / QUARTER_MS))
    return formatToSecond(at + shiftMs) + text
  }
}
