import { ForgeError, ForgeNotFound, ForgeRefused, WaitUntil } from '../../forge-errors.ts'

/** A proxy answers for a forge that does not. */
export class ForgeTemporarilyUnavailable extends Error {
  override name = 'Away'
}

/** When to look again for a forge that is away, or says only that it is busy. */
export const UNAVAILABLE_MS = 30_000

/** An address as it is told: what was asked for is left out. */
export const shown = (address: string) => address.split('?')[0] ?? address

export interface RefusedAnswer {
  status: number
  /** `Retry-After`, where it says so. */
  later: string | undefined
  /** Whether the body is an error message as the forge writes it. */
  isFromForge: boolean
  /** Where the forge lives, and what was asked for there. */
  url: string
  address: string
}

/** What an answer means that is none of 2xx, as an error to be thrown. */
export function refusalOf(
  { status, later: said, isFromForge, url, address }: RefusedAnswer,
  now: number,
): Error {
  const where = shown(address)
  const later = retryAfter(said, now)
  const isTold = status === 429 || (later !== undefined && (status === 403 || status === 503))
  if (isTold)
    return new WaitUntil(
      later ?? now + UNAVAILABLE_MS,
      'told',
      `${url} asks to wait (status ${status})`,
    )
  if (status === 502 || status === 503 || status === 504)
    return new ForgeTemporarilyUnavailable(`${where} is away for now (status ${status})`)
  if (status === 404 || status === 410) {
    const retryAt = now + UNAVAILABLE_MS
    return new ForgeNotFound(status, `${where} is not there`, { isFromForge, retryAt })
  }
  if (status >= 500) return new ForgeError(status, `${where} failed with status ${status}`)
  if (status === 401) return new ForgeRefused(status, `${url} does not accept the token`)
  if (status === 403) return new ForgeRefused(status, `the token may not read ${where}`)
  return new ForgeRefused(status, `${where} answers with status ${status}`)
}

/** No forge is taken at its word for longer. */
const LONGEST_MS = 24 * 60 * 60 * 1000

/** When to come back, in epoch milliseconds, as an answer says it in seconds or as a date; undefined where it does not. */
function retryAfter(said: string | undefined, now: number): number | undefined {
  if (!said?.trim()) return undefined
  const at = /^\d+$/.test(said.trim()) ? now + Number(said) * 1000 : Date.parse(said)
  if (Number.isNaN(at)) return undefined
  return Math.min(Math.max(at, now), now + LONGEST_MS)
}
