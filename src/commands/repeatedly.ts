import { setTimeout as sleep } from 'node:timers/promises'

export interface Repeated {
  /** Resolves when the run under way, if any, has ended. */
  stop(): Promise<void>
}

/** Runs a task again and again with a pause between; a failure is told and the next turn tries again. */
export function repeatedly(
  task: () => Promise<unknown>,
  everyMs: number,
  onFailure: (error: unknown) => void,
): Repeated {
  const stopping = new AbortController()
  const { signal } = stopping

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await task().catch(onFailure)
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {})
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
