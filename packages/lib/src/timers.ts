import { setTimeout as sleep } from 'node:timers/promises'

export type Repeated = ReturnType<typeof repeatedly>

/** A failure is usually temporary, and may be over long before the next regular run. */
const MAX_PAUSE_AFTER_FAILURE_MS = 10_000

/** Runs a task now and then repeatedly, with a pause in between. A failure is passed to `onFailure` and retried soon. */
export function repeatedly(
  task: () => Promise<unknown>,
  intervalMs: number,
  onFailure: (error: unknown) => void,
) {
  const stopping = new AbortController()
  const { signal } = stopping

  async function run(): Promise<void> {
    while (!signal.aborted) {
      let pauseMs = intervalMs
      await task().catch((error: unknown) => {
        onFailure(error)
        pauseMs = Math.min(intervalMs, MAX_PAUSE_AFTER_FAILURE_MS)
      })
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  const running = run()
  return {
    /** Stops the repetition. Resolves when the current run has ended. */
    stop(): Promise<void> {
      stopping.abort()
      return running
    },
  }
}

/** Waits for the work for up to `ms`. Ignores its failure: for callers with a job that does the work in any case. */
export async function waitAtMost(ms: number, work: Promise<void>): Promise<void> {
  const finished = new AbortController()
  const settled = work.catch(() => {}).finally(() => finished.abort())
  await Promise.race([settled, sleep(ms, undefined, { signal: finished.signal }).catch(() => {})])
}
