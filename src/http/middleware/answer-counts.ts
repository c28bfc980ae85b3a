import type { Answered } from './request-log.ts'

/** The longest in each bucket, in seconds. */
export const BOUNDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

interface Times {
  /** How many were no longer than each bound, and longer than the one before it; the last are those beyond all. */
  counts: number[]
  sum: number
}

/** The registry would sort, join and look up the labels of every request. */
export class AnswerCounts {
  readonly byStatus = new Map<string, { labels: Record<string, string | number>; times: number }>()
  readonly timesByRoute = new Map<string, Times>()

  note({ method, route = 'none', status, ms }: Answered): void {
    const key = `${status} ${method} ${route}`
    const count = this.byStatus.get(key)
    if (count) count.times++
    else this.byStatus.set(key, { labels: { method, route, status }, times: 1 })
    this.#noteTime(route, ms / 1000)
  }

  #noteTime(route: string, seconds: number): void {
    let times = this.timesByRoute.get(route)
    if (!times) {
      times = { counts: Array(BOUNDS.length + 1).fill(0), sum: 0 }
      this.timesByRoute.set(route, times)
    }
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > BOUNDS[bucket]!) bucket++
    times.counts[bucket]!++
    times.sum += seconds
  }
}
