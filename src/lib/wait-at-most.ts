import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for the work for up to `ms`. Ignores its failure: for callers with a job that does the work in any case. */
export async function waitAtMost(ms: number, work: Promise<void>): Promise<void> {
  const finished = new AbortController()
  const settled = work.catch(() => {}).finally(() => finished.abort())
  await Promise.race([settled, sleep(ms, undefined, { signal: finished.signal }).catch(() => {})])
}
