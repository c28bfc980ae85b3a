import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for work that is written down and will be finished whether or not anyone waits: neither the time it takes nor the
 * trouble it has is the caller's.
 */
export async function withTimeout(ms: number, work: Promise<void>): Promise<void> {
  const ended = new AbortController()
  const settled = work.catch(() => {}).finally(() => ended.abort())
  await Promise.race([settled, sleep(ms, undefined, { signal: ended.signal }).catch(() => {})])
}
