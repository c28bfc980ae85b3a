import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isLoopback } from '@godwit/lib/ip-address'
import { isName } from '@godwit/lib/names'

/** Each parser returns the value of a setting, or throws an Error whose message says what is expected. */

const accepting =
  (isValid: (text: string) => boolean, expected: string) =>
  (text: string): string => {
    if (!isValid(text)) throw new Error(expected)
    return text
  }

const matching = (pattern: RegExp, expected: string) =>
  accepting((text) => pattern.test(text), expected)

export const nonEmpty = matching(/\S/, 'must not be empty')

export const path = (text: string): string => resolve(nonEmpty(text))

export function oneOf<const T extends string>(...values: T[]): (text: string) => T {
  return (text) => {
    const value = values.find((each) => each === text)
    if (value === undefined) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new Error(`must be a whole number from ${min} to ${max}`)
    return value
  }
}

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses `90d`, `24h`, `30m` or `10s` to milliseconds. */
export function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (!Number(amount) || !unit) throw new Error('must be a duration such as 30s, 15m, 24h or 7d')
  return Number(amount) * UNITS[unit]!
}

export const orZero =
  (read: (text: string) => number) =>
  (text: string): number =>
    text === '0' ? 0 : read(text)

export const durationOrZero = orZero(duration)

export const durationUpTo =
  (max: string) =>
  (text: string): number => {
    const ms = duration(text)
    if (ms > duration(max)) throw new Error(`must be at most ${max}`)
    return ms
  }

/** Parses the duration of a timer. Node's timers fire at once if it is longer than 2^31 ms, which is almost 25 days. */
export const timerDuration = durationUpTo('24d')

const BYTES: Record<string, number> = { '': 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 }

/** Parses `50G`, `500M`, `10MB`, `1k` or a number of bytes, in decimal units; `none` is Infinity. */
export function byteLimit(text: string): number {
  if (text === 'none') return Number.POSITIVE_INFINITY
  const [, amount, unit = ''] = /^(\d{1,12})([KMGT]?)B?$/i.exec(text) ?? []
  const bytes = Number(amount) * BYTES[unit.toUpperCase()]!
  if (!Number.isSafeInteger(bytes)) throw new Error('must be a size such as 500M or 50G, or none')
  return bytes
}

export const version = matching(/^\d+\.\d+\.\d+$/, 'must be a version such as 3.7.0')

export type Listen = { host: string; port: number }

export function listen(text: string): Listen {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:/?#@]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  // Port 0 (any free port) is not possible: links contain the port before the server listens.
  if (!host || !URL.canParse(`http://${text}`) || !(Number(port) >= 1))
    throw new Error('must be HOST:PORT, such as 127.0.0.1:3000')
  return { host, port: Number(port) }
}

export function webAddress(text: string): string {
  const url = URL.parse(text)
  const isPlain = url && !url.search && !url.hash && !url.username && !url.password
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new Error('must be an http or https address without query, fragment or credentials')
  return text.replace(/\/+$/, '')
}

/** Parses the address of an OpenID provider. A trailing slash belongs to it: the provider's name for itself must be equal. */
export function issuerAddress(text: string): string {
  webAddress(text)
  const { protocol, hostname } = new URL(text)
  if (protocol !== 'https:' && !isLoopback(hostname)) throw new Error('must be an https address')
  return text
}

/** Parses `CLAIM=VALUE`, separated by commas. */
export const claimValues = (text: string): { claim: string; value: string }[] =>
  text.split(',').map((part) => {
    const [, claim, value] = /^\s*([^=\s]+)=(.*\S)\s*$/.exec(part) ?? []
    if (!claim || !value) throw new Error('must be CLAIM=VALUE, such as groups=staff')
    return { claim, value }
  })

export function headerName(text: string): string {
  const name = text.toLowerCase()
  if (!/^[a-z][a-z0-9-]*$/.test(name) || /^(authorization|cookie|host)$/.test(name))
    throw new Error('must be the name of a header, such as X-Remote-User')
  return name
}

/** Parses a host name, with an optional port. */
export function hostName(text: string): string {
  const name = text.toLowerCase()
  const label = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?'
  if (!new RegExp(`^${label}(\\.${label})*(:\\d{1,5})?$`).test(name))
    throw new Error('must be the name of a host, such as git.example.com')
  return name
}

export const login = accepting(
  isName,
  'must be the name of an account: letters, digits, ".", "_" and "-"',
)

/** Requires `{name}`. Whether `{owner}` is required too depends on the layout. */
export const addressTemplate = matching(/\{name\}/, 'must contain {name}')

export function webAddressTemplate(text: string): string {
  if (!/^https?:$/.test(URL.parse(addressTemplate(text))?.protocol ?? ''))
    throw new Error('must be an http or https address')
  return text
}

export const postgresAddress = accepting(
  (text) => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''),
  'must be a postgres:// address',
)

export const bucketAddress = matching(
  /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w!.*'()-]+)*\/?$/,
  'must be s3://BUCKET or s3://BUCKET/PREFIX',
)

export function timeZone(text: string): string {
  if (text === 'UTC') return text
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone && text
  } catch {
    throw new Error('must be a time zone such as UTC or Europe/Berlin')
  }
}

export const vendorName = matching(/^[a-z][a-z0-9-]*$/, 'must be a lower-case word')

/** Parses origins of web servers, separated by commas. */
export const origins = (text: string): string[] =>
  text.split(',').map((part) => {
    const url = URL.parse(part.trim())
    const isOrigin = url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
    if (!isOrigin)
      throw new Error(`"${part.trim()}" is not an origin such as https://s3.example.com`)
    return url.origin
  })

/** Parses IP addresses and networks, separated by commas. */
export function networks(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  for (const part of parts) {
    const [address = '', bits] = part.split('/')
    const maxBits = isIP(address) === 6 ? 128 : 32
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits)
    if (!isIP(address) || !fits) throw new Error(`"${part}" is not an IP address or network`)
  }
  return parts
}
