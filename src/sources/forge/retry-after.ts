/** No forge is taken at its word for longer. */
const LONGEST_MS = 24 * 60 * 60 * 1000

/** When to come back, in epoch milliseconds, as an answer says it in seconds or as a date; undefined where it does not. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const said = headers.get('retry-after')?.trim()
  if (!said) return undefined
  const at = /^\d+$/.test(said) ? now + Number(said) * 1000 : Date.parse(said)
  if (Number.isNaN(at)) return undefined
  return Math.min(Math.max(at, now), now + LONGEST_MS)
}
