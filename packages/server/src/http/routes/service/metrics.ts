import { string } from '@godwit/contract/schemas/schema'
import type { FastifyInstance, onResponseHookHandler } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client'
import { BLOB_OPERATIONS } from '../../../blobs/watch-errors.ts'
import type { Db } from '../../../db/database.ts'
import {
  countUnfinishedByState,
  readBlobErrors,
  readOutcomeCounts,
} from '../../../migrations/outcome-counts.ts'
import { readStoreChecks } from '../../../migrations/segment-check-store.ts'
import { countSegments } from '../../../migrations/segment-store.ts'
import { allOf } from '../../../migrations/service-state.ts'
import { DEAD_AFTER_MS, listProcesses } from '../../../queue/process-store.ts'
import type { Queue } from '../../../queue/queue.ts'
import { countSchedulesByState } from '../../../schedules/schedule-store.ts'
import { countWaitingEvents, readDeliveryCounts } from '../../../webhooks/delivery-store.ts'
import * as openapi from '../../description/operation.ts'
import { UNTRUSTED_FORWARDING_METRIC } from '../../middleware/api-headers.ts'
import type { ConcurrencyLimit } from '../../middleware/concurrency-limit.ts'
import type { OutcomeCounter } from '../../middleware/response-stream.ts'
import { type Dependency, withProbeTimeout } from './dependencies.ts'

interface MetricsDependencies {
  db: Db
  queue: Queue
  now: () => number
  log: Logger
  dependencyProbes: readonly Dependency[]
  /** Returns how many requests were rejected with 503 because the process was overloaded. */
  rejectedCount: () => number
  /** Returns how many requests had `x-forwarded-for` from an untrusted address. */
  untrustedCount: () => number
  cloneSlots: Pick<ConcurrencyLimit, 'running' | 'waiting'>
}

const routes = openapi.routes('Service', { security: [] })({
  'service/metrics': {
    summary: 'Get metrics for Prometheus',
    responses: {
      200: {
        description: 'Metrics in the text format of Prometheus.',
        content: { 'text/plain': { schema: string } },
      },
    },
  },
})

/** Adds `GET /metrics`. Returns the counters of this process, which the server and its routes increment. */
export function addMetrics(app: FastifyInstance, dependencies: MetricsDependencies) {
  const register = new Registry()
  const metrics = addProcessMetrics(register, dependencies)
  const updateSharedMetrics = addSharedMetrics(register, dependencies)
  let isFirstScrape = true

  app.get('/metrics', routes['service/metrics'], async (_request, reply) => {
    // The default metrics monitor the event loop with a timer that fires 100 times a second, so they start at the first scrape.
    if (isFirstScrape) {
      collectDefaultMetrics({ register })
      // These are gauges with the names of counters, which linters reject, and other metrics add up to the same values.
      for (const kind of ['handles', 'requests', 'resources'])
        register.removeSingleMetric(`nodejs_active_${kind}_total`)
    }
    isFirstScrape = false
    // Metrics of the process itself are returned even if the database does not respond.
    await withProbeTimeout(updateSharedMetrics()).catch((err: unknown) =>
      dependencies.log.warn({ err }, 'could not read the shared metrics'),
    )
    return reply.type(register.contentType).send(await register.metrics())
  })
  return metrics
}

function addProcessMetrics(register: Registry, dependencies: MetricsDependencies) {
  const { rejectedCount, untrustedCount, cloneSlots, dependencyProbes } = dependencies
  const registers = [register]

  new Counter({
    name: 'godwit_http_shed_total',
    help: 'Requests that this process rejected with 503 because it was overloaded',
    registers,
    collect() {
      this.reset()
      this.inc(rejectedCount())
    },
  })
  new Counter({
    name: UNTRUSTED_FORWARDING_METRIC,
    help: 'Requests with x-forwarded-for from an untrusted address',
    registers,
    collect() {
      this.reset()
      this.inc(untrustedCount())
    },
  })
  // Downloads that the client fetches from a bucket do not pass through this process.
  const downloads = addOutcomeCounter(
    register,
    'godwit_downloads_total',
    'Downloads of archives through this process, by result',
    ['complete', 'ended_by_client', 'failed'],
  )
  const clones = addOutcomeCounter(
    register,
    'godwit_clone_requests_total',
    'Requests of git clients for which this process ran git, by result',
    ['complete', 'ended_by_client', 'refused', 'failed'],
  )
  new Gauge({
    name: 'godwit_clone_requests',
    help: 'Requests of git clients for which git is running, or that wait for a slot',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'running' }, cloneSlots.running())
      this.set({ state: 'waiting' }, cloneSlots.waiting())
    },
  })
  new Gauge({
    name: 'godwit_dependency_up',
    help: 'Whether a dependency of this process is available (1) or not (0)',
    labelNames: ['dependency'],
    registers,
    async collect() {
      const available = await Promise.all(dependencyProbes.map(({ isAvailable }) => isAvailable()))
      for (const [index, { name }] of dependencyProbes.entries())
        this.set({ dependency: name }, Number(available[index]))
    },
  })
  const counts = new Map<string, { labels: RequestLabels; count: number }>()
  new Counter({
    name: 'godwit_http_requests_total',
    help: 'Requests that this process responded to',
    labelNames: ['method', 'route', 'status'],
    registers,
    collect() {
      this.reset()
      for (const { labels, count } of counts.values()) this.inc(labels, count)
    },
  })
  const responseTimes = new ResponseTimes()
  register.registerMetric(responseTimes as unknown as Histogram)
  const onResponse: onResponseHookHandler = ({ method, routeOptions }, reply, done) => {
    const { url: route = 'none' } = routeOptions
    const { statusCode: status, elapsedTime } = reply
    const key = `${method} ${status} ${route}`
    const counted = counts.get(key)
    if (counted) counted.count++
    else counts.set(key, { labels: { method, route, status }, count: 1 })
    responseTimes.add(route, elapsedTime / 1000)
    done()
  }
  return { onResponse, downloads, clones }
}

type RequestLabels = { method: string; route: string; status: number }

const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, Number.POSITIVE_INFINITY]

/**
 * A histogram of response times by route. prom-client's Histogram finds a series by the text of its labels for every request, which
 * would take a twentieth of the CPU time of a small read. The registry uses only `name` and `get`.
 */
class ResponseTimes {
  readonly name = 'godwit_http_request_seconds'
  readonly #byRoute = new Map<string, { counts: number[]; sum: number }>()

  add(route: string, seconds: number): void {
    const none = () => ({ counts: BUCKETS.map(() => 0), sum: 0 })
    const times = this.#byRoute.getOrInsertComputed(route, none)
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound)
    times.counts[bucket]!++
    times.sum += seconds
  }

  async get() {
    const { name } = this
    const values = [...this.#byRoute].flatMap(([route, { counts, sum }]) => {
      let count = 0
      const buckets = BUCKETS.map((bound, at) => {
        count += counts[at]!
        const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : bound
        return { metricName: `${name}_bucket`, labels: { le, route }, value: count }
      })
      const ofRoute = { labels: { route } }
      return [
        ...buckets,
        { metricName: `${name}_sum`, ...ofRoute, value: sum },
        { metricName: `${name}_count`, ...ofRoute, value: count },
      ]
    })
    return { name, help: 'Response times by route', type: 'histogram', values }
  }
}

function addOutcomeCounter(
  register: Registry,
  name: string,
  help: string,
  outcomes: readonly Parameters<OutcomeCounter['add']>[0][],
): OutcomeCounter {
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [register] })
  // Every series starts at 0, so that Prometheus sees the first increment in a rate.
  for (const outcome of outcomes) counter.inc({ outcome }, 0)
  return { add: (outcome) => counter.inc({ outcome }) }
}

/** How late a schedule may be before it counts as overdue. Workers check for due schedules several times a minute. */
const OVERDUE_AFTER_MS = 5 * 60_000

/** Metrics that all processes with one database share: each process reports the same values. Counters have names with `_total`. */
const sharedMetrics = {
  godwit_queue_jobs: ['kind', 'Waiting and running jobs'],
  godwit_queue_oldest_seconds: ['kind', 'Age of the oldest waiting or running job'],
  godwit_migrations: ['state', 'Unfinished migrations by state'],
  godwit_migration_oldest_seconds: [
    'state',
    'How long the oldest unfinished migration has been in its state',
  ],
  godwit_migrations_ended_total: ['outcome', 'Ended migrations by result'],
  godwit_repositories_total: [
    'outcome',
    'Repositories that all migrations have processed, by result',
  ],
  godwit_repository_bytes_total: [
    'outcome',
    'Bytes of the repositories that all migrations have processed, by result',
  ],
  godwit_reuse_ratio: [
    'of',
    'Share of repositories and bytes that were reused instead of exported',
  ],
  godwit_workers: ['state', 'Processes that run exports, by state'],
  godwit_disk_free_bytes: [
    'of',
    'Free space on the disk of the archives: the smallest of all workers',
  ],
  godwit_schedules: ['state', 'Schedules by state'],
  godwit_webhook_deliveries_total: ['outcome', 'Webhook deliveries by result'],
  godwit_store_checks_total: [
    'result',
    'Integrity checks of stored segments and archives by result',
  ],
  godwit_store_check_bytes_total: ['result', 'Bytes read by integrity checks of stored data'],
  godwit_segments: ['state', 'Stored segments by state'],
  godwit_store_oldest_check_seconds: [
    'of',
    'Time since the least recently checked segment was checked',
  ],
  godwit_webhook_events: ['state', 'Webhook events by state'],
  godwit_blob_errors_total: ['operation', 'Errors of the blob store by operation'],
} as const

/** Returns a function that updates the shared metrics from the database. If that fails, it removes the old values and rejects. */
function addSharedMetrics(register: Registry, { db, queue, now }: MetricsDependencies) {
  const metrics = new Map<string, Counter | Gauge>()
  for (const [name, [label, help]] of Object.entries(sharedMetrics)) {
    const options = { name, help, labelNames: [label], registers: [register] }
    metrics.set(name, name.endsWith('_total') ? new Counter(options) : new Gauge(options))
  }
  const reset = () => {
    for (const metric of metrics.values()) metric.reset()
  }
  /** Sets the series with this value of the label. Counters can only be increased, so every update begins with a reset. */
  const set = (name: keyof typeof sharedMetrics, labelValue: string, value: number) =>
    metrics.get(name)!.inc({ [sharedMetrics[name][0]]: labelValue }, value)
  const secondsSince = (at: number) => (now() - at) / 1000

  async function update(): Promise<void> {
    const found = await allOf({
      backlog: queue.backlog(),
      unfinished: countUnfinishedByState(db),
      outcomeCounts: readOutcomeCounts(db),
      blobErrors: readBlobErrors(db),
      schedules: countSchedulesByState(db, now() - OVERDUE_AFTER_MS),
      deliveries: readDeliveryCounts(db),
      waitingEvents: countWaitingEvents(db),
      checks: readStoreChecks(db),
      stored: countSegments(db),
      workers: listProcesses(db),
    })
    const { outcomeCounts, workers, checks } = found
    reset()
    for (const { kind, jobs, oldest } of found.backlog) {
      set('godwit_queue_jobs', kind, jobs)
      set('godwit_queue_oldest_seconds', kind, secondsSince(oldest))
    }
    for (const [state, { count, oldest }] of found.unfinished) {
      set('godwit_migrations', state, count)
      set('godwit_migration_oldest_seconds', state, oldest === null ? 0 : secondsSince(oldest))
    }
    const countsByName = new Map(
      outcomeCounts.map((countOutcome) => [countOutcome.name as string, countOutcome]),
    )
    for (const { name, count, bytes } of outcomeCounts) {
      const [kind, result] = name.split(' ') as ['migrations' | 'repositories', string]
      if (kind === 'migrations') set('godwit_migrations_ended_total', result, count)
      else {
        set('godwit_repositories_total', result, count)
        set('godwit_repository_bytes_total', result, bytes)
      }
    }
    const exported = countsByName.get('repositories exported')!
    const reused = countsByName.get('repositories reused')!
    set('godwit_reuse_ratio', 'repositories', reuseRatio(reused.count, exported.count))
    set('godwit_reuse_ratio', 'bytes', reuseRatio(reused.bytes, exported.bytes))
    const exporting = workers.filter(({ concurrency }) => concurrency > 0)
    const live = exporting.filter(({ seenAt }) => now() - seenAt < DEAD_AFTER_MS)
    set('godwit_workers', 'live', live.length)
    set('godwit_workers', 'dead', exporting.length - live.length)
    const free = live.flatMap(({ freeBytes }) => freeBytes ?? [])
    if (free.length > 0) set('godwit_disk_free_bytes', 'archives', Math.min(...free))
    for (const [state, count] of Object.entries(found.schedules))
      set('godwit_schedules', state, count)
    for (const [outcome, count] of found.deliveries)
      set('godwit_webhook_deliveries_total', outcome, count)
    for (const { result, count, bytes } of checks.results) {
      set('godwit_store_checks_total', result, count)
      set('godwit_store_check_bytes_total', result, bytes)
    }
    set('godwit_segments', 'intact', found.stored.count - checks.damaged)
    set('godwit_segments', 'damaged', checks.damaged)
    if (checks.oldestAt !== null)
      set('godwit_store_oldest_check_seconds', 'segments', secondsSince(checks.oldestAt))
    set('godwit_webhook_events', 'waiting', found.waitingEvents)
    // Every series starts at 0, so that Prometheus sees the first error as an increase.
    for (const operation of BLOB_OPERATIONS)
      set('godwit_blob_errors_total', operation, found.blobErrors.get(operation) ?? 0)
  }

  return () =>
    update().catch((error: unknown) => {
      reset()
      throw error
    })
}

const reuseRatio = (reused: number, exported: number): number =>
  reused === 0 ? 0 : reused / (reused + exported)
