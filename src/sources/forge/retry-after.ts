/** No forge is taken at its word for longer. */
const LONGEST_MS = 24 * 60 * 60 * 1000

/** When to come back, in epoch milliseconds, as an answer says it in seconds or as a date; undefined where it does not. */
export function retryAfter(said: string | undefined, now: number): number | undefined {
  if (!said?.trim()) return undefined
  const at = /^\d+$/.test(said.trim()) ? now + Number(said) * 1000 : Date.parse(said)
  if (Number.isNaN(at)) return undefined
  return Math.min(Math.max(at, now), now + LONGEST_MS)
}
