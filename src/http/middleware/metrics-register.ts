import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client'
import { type AnswerCounts, BOUNDS } from './answer-counts.ts'
import type { Dependency } from './dependencies.ts'
import { UNTRUSTED_FORWARDING } from './forwarding.ts'
import { type SharedMetricsParts, sharedMetrics } from './shared-metrics.ts'
import { type DownloadCounts, downloadOutcomes } from './taking-client.ts'

export interface RegisterParts extends SharedMetricsParts {
  answers: AnswerCounts
  dependencies: readonly Dependency[]
  /** How many requests were turned away because there was too much to do. */
  shed: () => number
  /** How many requests came with `x-forwarded-for` from an address that is not trusted. */
  untrusted: () => number
  downloads: DownloadCounts
  cloned: ClonesToTell
}

interface ClonesToTell {
  outcomes: DownloadCounts
  places: { running(): number; waiting(): number }
}

/** Everything that is told; `readShared` brings up to date what all processes have in common. */
export function openRegister(parts: RegisterParts) {
  const register = new Registry()
  collectDefaultMetrics({ register })
  tell(register, Counter, SHED, () => [[{}, parts.shed()]])
  tell(register, Counter, UNTRUSTED, () => [[{}, parts.untrusted()]])
  tell(register, Counter, DOWNLOADS, () => byOutcome(parts.downloads))
  tell(register, Counter, CLONES, () => byOutcome(parts.cloned.outcomes))
  tell(register, Gauge, CLONE_PLACES, () => byState(parts.cloned.places))
  tell(register, Gauge, DEPENDENCIES, () => Promise.all(parts.dependencies.map(whetherUp)))
  const readShared = sharedMetrics(register, parts)
  const { byStatus, timesByRoute } = parts.answers
  tell(register, Counter, ANSWERS, () =>
    [...byStatus.values()].map(({ labels, times }) => [labels, times]),
  )
  const metric = { name: TIMES, get: async () => exposed(timesByRoute) }
  register.registerMetric(metric as unknown as Histogram)
  return { register, readShared }
}

const SHED = {
  name: 'godwit_http_shed_total',
  help: 'Requests that this process answered with 503 because it was overloaded',
}
const UNTRUSTED = {
  name: UNTRUSTED_FORWARDING,
  help: 'Requests with x-forwarded-for from an untrusted address',
}
/** Those that a bucket gives by itself are none of ours. */
const DOWNLOADS = {
  name: 'godwit_downloads_total',
  help: 'Downloads of archives through this process, by result',
  labelNames: ['outcome'],
}
const CLONES = {
  name: 'godwit_clone_requests_total',
  help: 'Requests of git clients that this process ran git for, by result',
  labelNames: ['outcome'],
}
const CLONE_PLACES = {
  name: 'godwit_clone_requests',
  help: 'Requests of git clients that this process runs git for, and that wait for it',
  labelNames: ['state'],
}
const DEPENDENCIES = {
  name: 'godwit_dependency_up',
  help: 'Whether the dependencies of this process answer',
  labelNames: ['dependency'],
}
const ANSWERS = {
  name: 'godwit_http_requests_total',
  help: 'Requests answered by this process',
  labelNames: ['method', 'route', 'status'],
}

type Reading = [labels: Record<string, string | number>, value: number]

/** Counted elsewhere, and read when it is asked for. */
function tell(
  register: Registry,
  Kind: typeof Counter | typeof Gauge,
  about: { name: string; help: string; labelNames?: string[] },
  read: () => Reading[] | Promise<Reading[]>,
): void {
  const metric: Counter | Gauge = new Kind({
    ...about,
    registers: [register],
    async collect() {
      const readings = await read()
      metric.reset()
      for (const [labels, value] of readings) metric.inc(labels, value)
    },
  })
}

const byOutcome = (counts: DownloadCounts): Reading[] =>
  downloadOutcomes.map((outcome) => [{ outcome }, counts.of(outcome)])

const byState = ({ running, waiting }: ClonesToTell['places']): Reading[] => [
  [{ state: 'running' }, running()],
  [{ state: 'waiting' }, waiting()],
]

const whetherUp = async ({ name, isThere }: Dependency): Promise<Reading> => [
  { dependency: name },
  Number(await isThere()),
]

const TIMES = 'godwit_http_request_seconds'

function exposed(ofRoutes: AnswerCounts['timesByRoute']) {
  const values = [...ofRoutes].flatMap(([route, { counts, sum }]) => {
    let upTo = 0
    const buckets = counts.map((count, at) => {
      upTo += count
      return {
        metricName: `${TIMES}_bucket`,
        labels: { le: BOUNDS[at] ?? '+Inf', route },
        value: upTo,
      }
    })
    return [
      ...buckets,
      { metricName: `${TIMES}_sum`, labels: { route }, value: sum },
      { metricName: `${TIMES}_count`, labels: { route }, value: upTo },
    ]
  })
  return { name: TIMES, help: 'Response times', type: 'histogram', values, aggregator: 'sum' }
}
