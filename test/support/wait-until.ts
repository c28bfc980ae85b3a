import { setTimeout as pause } from 'node:timers/promises'

/**
 * The timeout of every wait, to end tests that hang. `GODWIT_TEST_TIMEOUT=SECONDS` changes it for a slow or busy
 * machine.
 */
export const TIMEOUT_MS = Number(process.env.GODWIT_TEST_TIMEOUT ?? 180) * 1000

/** The condition, for the error message; a function if the message is known only at the end. */
type What = string | (() => string)

const textOf = (what: What): string => (typeof what === 'string' ? what : what())

const timeoutError = (what: What): Error => {
  const waited = `waited ${TIMEOUT_MS / 1000} s (GODWIT_TEST_TIMEOUT)`
  return new Error(`timed out: ${textOf(what)}; ${waited}`)
}

/** The first pauses are short; later ones are longer, so that polling does not slow down the service under test. */
const MIN_PAUSE_MS = 5
const MAX_PAUSE_MS = 50

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>

/** Polls until `probe` returns a truthy value, and returns that value. */
export async function until<T>(what: What, probe: () => T | Promise<T>): Promise<Truthy<T>> {
  const endsAt = performance.now() + TIMEOUT_MS
  for (let ms = MIN_PAUSE_MS; ; ms = Math.min(1.3 * ms, MAX_PAUSE_MS)) {
    const value = await probe()
    if (value) return value as Truthy<T>
    if (performance.now() > endsAt) throw timeoutError(what)
    await pause(ms)
  }
}

/** Waits for a promise with the same timeout. */
export async function withTimeout<T>(what: What, promise: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(timeoutError(what)), TIMEOUT_MS)
  try {
    return await Promise.race([promise, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}
