import { setTimeout as pause } from 'node:timers/promises'

/**
 * How long a test waits for one thing: a guard against hangs, never a measure. `GODWIT_TEST_TIMEOUT=SECONDS` sets it for a
 * machine that is slower or busier than most.
 */
export const TIMEOUT_MS = Number(process.env.GODWIT_TEST_TIMEOUT ?? 180) * 1000

/** What is waited for, as the end of "it never came about that …"; a function where that is known only at the end. */
type What = string | (() => string)

const inWords = (what: What): string => (typeof what === 'string' ? what : what())

const gaveUp = (what: What): Error => {
  const waited = `waited ${TIMEOUT_MS / 1000} s (GODWIT_TEST_TIMEOUT)`
  return new Error(`it never came about that ${inWords(what)}; ${waited}`)
}

/** Soon at first; later, looking would take time from those who are looked at. */
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 50

type Seen<T> = Exclude<T, false | 0 | '' | null | undefined>

/** Looks again and again until it is so, and answers what it saw. */
export async function until<T>(what: What, look: () => T | Promise<T>): Promise<Seen<T>> {
  const giveUpAt = performance.now() + TIMEOUT_MS
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(1.3 * ms, LONGEST_PAUSE_MS)) {
    const seen = await look()
    if (seen) return seen as Seen<T>
    if (performance.now() > giveUpAt) throw gaveUp(what)
    await pause(ms)
  }
}

/** For what announces itself: the same bound on a promise. */
export async function inTime<T>(what: What, announced: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>()
  const bound = setTimeout(() => over.reject(gaveUp(what)), TIMEOUT_MS)
  try {
    return await Promise.race([announced, over.promise])
  } finally {
    clearTimeout(bound)
  }
}
