import type { Histogram, Registry } from 'prom-client'

const NAME = 'godwit_http_request_seconds'
const HELP = 'Response times'
/** The longest in each bucket, in seconds. */
const BOUNDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

interface Times {
  /** How many were no longer than each bound, and longer than the one before it; the last are those beyond all. */
  counts: number[]
  sum: number
}

/** A histogram by route. The registry's own would sort, join and look up the labels of every request. */
export function responseTimes(register: Registry): (route: string, seconds: number) => void {
  const ofRoutes = new Map<string, Times>()
  const metric = { name: NAME, get: async () => exposed(ofRoutes) }
  register.registerMetric(metric as unknown as Histogram)
  return (route, seconds) => {
    let times = ofRoutes.get(route)
    if (!times) {
      times = { counts: Array(BOUNDS.length + 1).fill(0), sum: 0 }
      ofRoutes.set(route, times)
    }
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > BOUNDS[bucket]!) bucket++
    times.counts[bucket]!++
    times.sum += seconds
  }
}

function exposed(ofRoutes: ReadonlyMap<string, Times>) {
  const values = [...ofRoutes].flatMap(([route, { counts, sum }]) => {
    let upTo = 0
    const buckets = counts.map((count, at) => {
      upTo += count
      return {
        metricName: `${NAME}_bucket`,
        labels: { le: BOUNDS[at] ?? '+Inf', route },
        value: upTo,
      }
    })
    return [
      ...buckets,
      { metricName: `${NAME}_sum`, labels: { route }, value: sum },
      { metricName: `${NAME}_count`, labels: { route }, value: upTo },
    ]
  })
  return { name: NAME, help: HELP, type: 'histogram', values, aggregator: 'sum' }
}
