import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { getMetrics } from '../service/service-operations.ts'
import type { NoteAnswered } from './answered.ts'
import { type Dependency, inTime } from './dependencies.ts'
import { type DownloadCounts, downloadOutcomes } from './download-outcomes.ts'
import { UNTRUSTED_FORWARDING } from './forwarding.ts'
import { responseTimes } from './response-times.ts'
import { type SharedMetricsParts, sharedMetrics } from './shared-metrics.ts'

export interface MetricsParts extends SharedMetricsParts {
  log: Logger
  /** How many requests were turned away because there was too much to do. */
  shed: () => number
  /** How many requests came with `x-forwarded-for` from an address that is not trusted. */
  untrusted: () => number
  downloads: DownloadCounts
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
  tellDownloads(register, parts.downloads)
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
function tellDownloads(register: Registry, downloads: DownloadCounts): void {
  new Counter({
    name: 'godwit_downloads_total',
    help: 'Downloads of archives through this process, by result',
    labelNames: ['outcome'],
    registers: [register],
    collect() {
      this.reset()
      for (const outcome of downloadOutcomes) this.inc({ outcome }, downloads.of(outcome))
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
