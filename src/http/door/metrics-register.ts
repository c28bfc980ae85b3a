import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client'
import { type AnswerCounts, BOUNDS } from './answer-counts.ts'
import type { Dependency } from './dependencies.ts'
import { type DownloadCounts, downloadOutcomes } from './download-outcomes.ts'
import { UNTRUSTED_FORWARDING } from './forwarding.ts'
import { type SharedMetricsParts, sharedMetrics } from './shared-metrics.ts'

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
  countLate(register, 'godwit_http_shed_total', SHED, parts.shed)
  countLate(register, UNTRUSTED_FORWARDING, UNTRUSTED, parts.untrusted)
  tellOutcomes(register, DOWNLOADS, parts.downloads)
  tellOutcomes(register, CLONES, parts.cloned.outcomes)
  tellClonePlaces(register, parts.cloned.places)
  tellDependencies(register, parts.dependencies)
  const readShared = sharedMetrics(register, parts)
  tellAnswers(register, parts.answers)
  return { register, readShared }
}

function tellAnswers(register: Registry, { byStatus, timesByRoute }: AnswerCounts): void {
  new Counter({
    name: 'godwit_http_requests_total',
    help: 'Requests answered by this process',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
    collect() {
      this.reset()
      for (const { labels, times } of byStatus.values()) this.inc(labels, times)
    },
  })
  const metric = { name: TIMES, get: async () => exposed(timesByRoute) }
  register.registerMetric(metric as unknown as Histogram)
}

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

const SHED = 'Requests that this process answered with 503 because it was overloaded'
const UNTRUSTED = 'Requests with x-forwarded-for from an untrusted address'

/** Counted elsewhere, and read when it is asked for. */
function countLate(register: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [register],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

/** Those that a bucket gives by itself are none of ours. */
const DOWNLOADS = {
  name: 'godwit_downloads_total',
  help: 'Downloads of archives through this process, by result',
}
const CLONES = {
  name: 'godwit_clone_requests_total',
  help: 'Requests of git clients that this process ran git for, by result',
}

interface MetricName {
  name: string
  help: string
}

function tellOutcomes(
  register: Registry,
  { name, help }: MetricName,
  counts: DownloadCounts,
): void {
  new Counter({
    name,
    help,
    labelNames: ['outcome'],
    registers: [register],
    collect() {
      this.reset()
      for (const outcome of downloadOutcomes) this.inc({ outcome }, counts.of(outcome))
    },
  })
}

function tellClonePlaces(register: Registry, { running, waiting }: ClonesToTell['places']): void {
  new Gauge({
    name: 'godwit_clone_requests',
    help: 'Requests of git clients that this process runs git for, and that wait for it',
    labelNames: ['state'],
    registers: [register],
    collect() {
      this.set({ state: 'running' }, running())
      this.set({ state: 'waiting' }, waiting())
    },
  })
}

function tellDependencies(register: Registry, dependencies: readonly Dependency[]): void {
  new Gauge({
    name: 'godwit_dependency_up',
    help: 'Whether the dependencies of this process answer',
    labelNames: ['dependency'],
    registers: [register],
    async collect() {
      const answers = dependencies.map(async ({ name, isThere }) =>
        this.set({ dependency: name }, Number(await isThere())),
      )
      await Promise.all(answers)
    },
  })
}
