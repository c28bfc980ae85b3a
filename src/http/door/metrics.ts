import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client'
import { getMetrics } from '../service/service-operations.ts'
import type { NoteAnswered } from './answered.ts'
import { type Dependency, inTime } from './dependencies.ts'
import { type DownloadCounts, downloadOutcomes } from './download-outcomes.ts'
import { UNTRUSTED_FORWARDING } from './forwarding.ts'
import { type SharedMetricsParts, sharedMetrics } from './shared-metrics.ts'

export interface MetricsParts extends SharedMetricsParts {
  log: Logger
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

/**
 * `GET /metrics` for Prometheus. What is shared by all processes is read from the database when it is asked for; what this
 * one answers is counted by what is returned.
 */
export function metrics(
  app: FastifyInstance,
  parts: MetricsParts,
  dependencies: readonly Dependency[],
): NoteAnswered {
  const register = new Registry()
  collectDefaultMetrics({ register })
  countLate(register, 'godwit_http_shed_total', SHED, parts.shed)
  countLate(register, UNTRUSTED_FORWARDING, UNTRUSTED, parts.untrusted)
  tellOutcomes(register, DOWNLOADS, parts.downloads)
  tellOutcomes(register, CLONES, parts.cloned.outcomes)
  tellClonePlaces(register, parts.cloned.places)
  tellDependencies(register, dependencies)
  const readShared = sharedMetrics(register, parts)
  app.get('/metrics', { schema: getMetrics }, async (_request, reply) => {
    // Without its database a process still tells of itself.
    await inTime(readShared()).catch((err: unknown) =>
      parts.log.warn({ err }, 'could not read the shared metrics'),
    )
    return reply.type(register.contentType).send(await register.metrics())
  })
  return countRequests(register)
}

function countRequests(register: Registry): NoteAnswered {
  const counts = new Map<string, { labels: Record<string, string | number>; times: number }>()
  new Counter({
    name: 'godwit_http_requests_total',
    help: 'Requests answered by this process',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
    collect() {
      this.reset()
      for (const { labels, times } of counts.values()) this.inc(labels, times)
    },
  })
  const noteTime = responseTimes(register)
  return ({ method, route = 'none', status, ms }) => {
    // The registry would sort and join the labels each time.
    const key = `${status} ${method} ${route}`
    const count = counts.get(key)
    if (count) count.times++
    else counts.set(key, { labels: { method, route, status }, times: 1 })
    noteTime(route, ms / 1000)
  }
}

const TIMES = 'godwit_http_request_seconds'
/** The longest in each bucket, in seconds. */
const BOUNDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

interface Times {
  /** How many were no longer than each bound, and longer than the one before it; the last are those beyond all. */
  counts: number[]
  sum: number
}

/** A histogram by route. The registry's own would sort, join and look up the labels of every request. */
function responseTimes(register: Registry): (route: string, seconds: number) => void {
  const ofRoutes = new Map<string, Times>()
  const metric = { name: TIMES, get: async () => exposed(ofRoutes) }
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
