import { setTimeout as sleep } from 'node:timers/promises'

export interface Repeated {
  /** Resolves when the run under way, if any, has ended. */
  stop(): Promise<void>
}

/** What failed was most likely the machine, which may be well again long before the next turn. */
const LONGEST_PAUSE_AFTER_FAILURE_MS = 10_000

/** Runs a task again and again with a pause between; a failure is told and soon tried again. */
export function repeatedly(
  task: () => Promise<unknown>,
  everyMs: number,
  onFailure: (error: unknown) => void,
): Repeated {
  const stopping = new AbortController()
  const { signal } = stopping

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let pauseMs = everyMs
      await task().catch((error: unknown) => {
        onFailure(error)
        pauseMs = Math.min(everyMs, LONGEST_PAUSE_AFTER_FAILURE_MS)
      })
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  const running = run()
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}
