/** Formats sizes and times for pages, terminals and reports. */

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB']

/** 12,345,678 → `12 MB`. */
export function formatBytes(bytes: number): string {
  let unit = 0
  let rest = bytes
  while (rest >= 999.5 && unit < UNITS.length - 1) {
    rest /= 1000
    unit += 1
  }
  if (unit === 0) return formatCount(Math.round(bytes), 'byte')
  return `${rest < 9.95 ? rest.toFixed(1) : Math.round(rest)} ${UNITS[unit]}`
}

/** Formats GitHub's `size` of a repository, which is in KiB and rounded up. */
export const formatKib = (kib: number): string =>
  kib === 1 ? 'up to 1 kB' : formatBytes(kib * 1024)

// Created on first use: creating it takes a tenth of the start of a command.
let relative: Intl.RelativeTimeFormat | undefined

/** 12345 → `12,345`. */
export const formatNumber = (count: number): string =>
  String(count).replace(/\B(?=(\d{3})+$)/g, ',')

export const formatCount = (count: number, one: string, many = pluralOf(one)): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/** `repository` → `repositories`. */
const pluralOf = (noun: string): string => `${noun.replace(/(?<=[^aeiou])y$/, 'ie')}s`

/** 3725 → `1 h 2 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return 'under 1 s'
  if (seconds < 60) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** `3 hours ago`, `in 6 days`. */
export function formatRelativeTime(at: Date, now: number): string {
  const seconds = (at.getTime() - now) / 1000
  const [unit, length] = STEPS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  if (unit === 'second' && Math.abs(seconds) < 10)
    return seconds > 0 ? 'in a few seconds' : 'just now'
  // Ages are rounded down; future times are rounded to the nearest.
  const round = seconds < 0 ? Math.trunc : Math.round
  relative ??= new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
  return relative.format(round(seconds / length), unit)
}
