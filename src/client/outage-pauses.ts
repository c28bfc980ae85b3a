import { asTemporaryError, retryPause, ServerBusy } from './errors.ts'

/** How long a server may be away, for it may only be starting again. */
const OUTAGE_TIMEOUT_MS = 5 * 60_000
/** How long one that is away may ask to be waited for, all in all. */
const MAX_ASKED_MS = 60 * 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000

export interface OutagePauses {
  /** The server has answered. */
  reset(): void
  /** How long to wait after what may pass; throws what will not, or has lasted too long. */
  after(error: unknown): number
}

/** The pauses between tries to reach a server: longer each time, and as long as it asks for. */
export function outagePauses(url: string, onError: (outage: Error) => void): OutagePauses {
  let since: number | undefined
  let pause = FIRST_PAUSE_MS
  let askedMs = 0
  return {
    reset() {
      since = undefined
      pause = FIRST_PAUSE_MS
      askedMs = 0
    },
    after(error) {
      const outage = asTemporaryError(error, url)
      if (!outage) throw error
      if (since === undefined) onError(outage)
      since ??= performance.now()
      const wait = retryPause(outage, pause)
      // One that counts requests is there, and may ask for as much as it likes.
      if (outage instanceof ServerBusy && outage.status >= 500) askedMs += wait - pause
      if (performance.now() - since > OUTAGE_TIMEOUT_MS || askedMs > MAX_ASKED_MS) throw outage
      // What the server itself asks for is not time that it was away.
      since += wait - pause
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      return wait
    },
  }
}
