const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Pauses after each try that failed: soon at first, and for about a day in all. */
const PAUSES = [
  10 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  8 * HOUR,
]

export const MAX_TRIES = PAUSES.length + 1

/** How far clocks of several machines may differ before a time counts as wrong. */
export const CLOCK_TOLERANCE_MS = MINUTE

/** After so many tries. */
export const pauseAfter = (tries: number): number =>
  PAUSES[Math.min(tries, PAUSES.length) - 1] ?? SECOND

/** A webhook that fails for as long as this, without any success between, is made inactive. */
export const DISABLED_AFTER_MS = 7 * 24 * HOUR
