import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { BLOB_OPERATIONS } from '../../blobs/watch-errors.ts'
import type { Db } from '../../db/database.ts'
import { memoize } from '../../lib/memoize.ts'
import { readStoreChecks } from '../../migrations/segment-check-store.ts'
import { countSegments } from '../../migrations/segment-store.ts'
import {
  countUnfinishedByState,
  readBlobErrors,
  readTallies,
} from '../../migrations/tally-store.ts'
import type { Queue } from '../../queue/queue.ts'
import { DEAD_AFTER_MS, listWorkers } from '../../queue/worker-store.ts'
import { countSchedulesByState } from '../../schedules/schedule-store.ts'
import { countWaitingEvents, readDeliveryTallies } from '../../webhooks/delivery-store.ts'
import { string } from '../../wire/schema.ts'
import type { Operation } from '../description/operation.ts'
import { UNTRUSTED_FORWARDING_METRIC } from './api-headers.ts'
import type { ConcurrencyLimit } from './concurrency-limit.ts'
import { type Dependency, withProbeTimeout } from './dependencies.ts'
import type { CompletedRequest } from './request-log.ts'
import type { OutcomeCounter } from './response-stream.ts'

const MAX_CACHED_SERIES = 1000

interface MetricsParts {
  db: Db
  queue: Queue
  now: () => number
  log: Logger
  dependencies: readonly Dependency[]
  /** Returns how many requests were rejected with 503 because the process was overloaded. */
  rejectedCount: () => number
  /** Returns how many requests had `x-forwarded-for` from an untrusted address. */
  untrustedCount: () => number
  cloneSlots: Pick<ConcurrencyLimit, 'running' | 'waiting'>
}

const getMetrics = {
  operationId: 'service/metrics',
  tags: ['Service'],
  summary: 'Get metrics for Prometheus',
  security: [],
  responses: {
    200: {
      description: 'Metrics in the text format of Prometheus.',
      content: { 'text/plain': { schema: string } },
    },
  },
} satisfies Operation

/** Adds `GET /metrics`. Returns the counters of this process, which the server and its routes increment. */
export function addMetrics(app: FastifyInstance, parts: MetricsParts) {
  const register = new Registry()
  const metrics = addProcessMetrics(register, parts)
  const updateSharedMetrics = addSharedMetrics(register, parts)
  let isFirstScrape = true

  app.get('/metrics', { schema: getMetrics }, async (_request, reply) => {
    // The default metrics monitor the event loop with a timer that fires 100 times a second, so they start at the first scrape.
    if (isFirstScrape) {
      collectDefaultMetrics({ register })
      // Their names are those of counters, and the sums of other metrics have the same values.
      for (const kind of ['handles', 'requests', 'resources'])
        register.removeSingleMetric(`nodejs_active_${kind}_total`)
    }
    isFirstScrape = false
    // Metrics of the process itself are returned even if the database does not respond.
    await withProbeTimeout(updateSharedMetrics()).catch((err: unknown) =>
      parts.log.warn({ err }, 'could not read the shared metrics'),
    )
    return reply.type(register.contentType).send(await register.metrics())
  })
  return metrics
}

function addProcessMetrics(register: Registry, parts: MetricsParts) {
  const { rejectedCount, untrustedCount, cloneSlots, dependencies } = parts
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
  )
  const clones = addOutcomeCounter(
    register,
    'godwit_clone_requests_total',
    'Requests of git clients for which this process ran git, by result',
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
      const available = await Promise.all(dependencies.map(({ isAvailable }) => isAvailable()))
      for (const [index, { name }] of dependencies.entries())
        this.set({ dependency: name }, Number(available[index]))
    },
  })
  const requests = new Counter({
    name: 'godwit_http_requests_total',
    help: 'Requests that this process responded to',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'godwit_http_request_seconds',
    help: 'Response times by route',
    labelNames: ['route'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  })
  // Finding a series by its labels costs more than counting in it.
  const seriesOf = memoize(
    MAX_CACHED_SERIES,
    ({ method, route = 'none', status }: CompletedRequest) => ({
      count: requests.labels({ method, route, status }),
      duration: seconds.labels({ route }),
    }),
    ({ method, route, status }) => `${method} ${status} ${route}`,
  )
  return {
    onRequestCompleted(request: CompletedRequest): void {
      const { count, duration } = seriesOf(request)
      count.inc()
      duration.observe(request.ms / 1000)
    },
    downloads,
    clones,
  }
}

function addOutcomeCounter(register: Registry, name: string, help: string): OutcomeCounter {
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [register] })
  // Every series starts at 0, so that Prometheus sees the first increment in a rate.
  for (const outcome of ['complete', 'ended_by_client', 'failed']) counter.inc({ outcome }, 0)
  return { add: (outcome) => counter.inc({ outcome }) }
}

/** How late a schedule may be before it counts as overdue. Workers check for due schedules several times a minute. */
const OVERDUE_AFTER_MS = 5 * 60_000

/**
 * Adds the metrics that all processes with one database share: each process reports the same values. Returns a function that updates
 * them from the database. If that fails, it removes the old values and rejects.
 */
function addSharedMetrics(
  register: Registry,
  { db, queue, now }: MetricsParts,
): () => Promise<void> {
  const metrics: (Counter | Gauge)[] = []
  /** Adds a counter if the name ends with `_total`, otherwise a gauge. Returns a function that sets the value of a series. */
  const add = (name: string, help: string, label: string) => {
    const options = { name, help, labelNames: [label], registers: [register] }
    const metric = name.endsWith('_total') ? new Counter(options) : new Gauge(options)
    metrics.push(metric)
    // Each update begins with a reset.
    return (value: string, count: number) => metric.inc({ [label]: value }, count)
  }
  const setJobs = add('godwit_queue_jobs', 'Waiting and running jobs', 'kind')
  const setOldestJob = add(
    'godwit_queue_oldest_seconds',
    'Age of the oldest waiting or running job',
    'kind',
  )
  const setMigrations = add('godwit_migrations', 'Unfinished migrations by state', 'state')
  const setOldestMigration = add(
    'godwit_migration_oldest_seconds',
    'How long the oldest unfinished migration has been in its state',
    'state',
  )
  const setEnded = add('godwit_migrations_ended_total', 'Ended migrations by result', 'outcome')
  const setRepositories = add(
    'godwit_repositories_total',
    'Repositories that all migrations have processed, by result',
    'outcome',
  )
  const setBytes = add(
    'godwit_repository_bytes_total',
    'Bytes of the repositories that all migrations have processed, by result',
    'outcome',
  )
  const setReuse = add(
    'godwit_reuse_ratio',
    'Share of repositories and bytes that were reused instead of exported',
    'of',
  )
  const setWorkers = add('godwit_workers', 'Processes that run exports, by state', 'state')
  const setFreeBytes = add(
    'godwit_disk_free_bytes',
    'Free space on the disk of the archives: the smallest of all workers',
    'of',
  )
  const setSchedules = add('godwit_schedules', 'Schedules by state', 'state')
  const setDeliveries = add(
    'godwit_webhook_deliveries_total',
    'Webhook deliveries by result',
    'outcome',
  )
  const setChecks = add(
    'godwit_store_checks_total',
    'Integrity checks of stored segments and archives by result',
    'result',
  )
  const setCheckedBytes = add(
    'godwit_store_check_bytes_total',
    'Bytes read by integrity checks of stored data',
    'result',
  )
  const setSegments = add('godwit_segments', 'Stored segments by state', 'state')
  const setOldestCheck = add(
    'godwit_store_oldest_check_seconds',
    'Time since the least recently checked segment was checked',
    'of',
  )
  const setEvents = add('godwit_webhook_events', 'Webhook events by state', 'state')
  const setBlobErrors = add(
    'godwit_blob_errors_total',
    'Errors of the blob store by operation',
    'operation',
  )

  const reset = () => {
    for (const metric of metrics) metric.reset()
  }
  const secondsSince = (at: number) => (now() - at) / 1000

  async function update(): Promise<void> {
    const [
      backlog,
      unfinished,
      tallies,
      blobErrors,
      schedules,
      deliveries,
      waitingEvents,
      checks,
      stored,
      workers,
    ] = await Promise.all([
      queue.backlog(),
      countUnfinishedByState(db),
      readTallies(db),
      readBlobErrors(db),
      countSchedulesByState(db, now() - OVERDUE_AFTER_MS),
      readDeliveryTallies(db),
      countWaitingEvents(db),
      readStoreChecks(db),
      countSegments(db),
      listWorkers(db),
    ])
    reset()
    for (const { kind, jobs, oldest } of backlog) {
      setJobs(kind, jobs)
      setOldestJob(kind, secondsSince(oldest))
    }
    for (const [state, { count, oldest }] of unfinished) {
      setMigrations(state, count)
      setOldestMigration(state, oldest === null ? 0 : secondsSince(oldest))
    }
    const talliesByName = new Map(tallies.map((tally) => [tally.name as string, tally]))
    for (const { name, count, bytes } of tallies) {
      const [kind, result] = name.split(' ') as ['migrations' | 'repositories', string]
      if (kind === 'migrations') setEnded(result, count)
      else {
        setRepositories(result, count)
        setBytes(result, bytes)
      }
    }
    const exported = talliesByName.get('repositories exported')!
    const reused = talliesByName.get('repositories reused')!
    setReuse('repositories', reuseRatio(reused.count, exported.count))
    setReuse('bytes', reuseRatio(reused.bytes, exported.bytes))
    const exporting = workers.filter(({ concurrency }) => concurrency > 0)
    const live = exporting.filter(({ seenAt }) => now() - seenAt < DEAD_AFTER_MS)
    setWorkers('live', live.length)
    setWorkers('dead', exporting.length - live.length)
    const free = live.flatMap(({ freeBytes }) => freeBytes ?? [])
    if (free.length > 0) setFreeBytes('archives', Math.min(...free))
    for (const [state, count] of Object.entries(schedules)) setSchedules(state, count)
    for (const [outcome, count] of deliveries) setDeliveries(outcome, count)
    for (const { result, count, bytes } of checks.results) {
      setChecks(result, count)
      setCheckedBytes(result, bytes)
    }
    setSegments('intact', stored.count - checks.damaged)
    setSegments('damaged', checks.damaged)
    if (checks.oldestAt !== null) setOldestCheck('segments', secondsSince(checks.oldestAt))
    setEvents('waiting', waitingEvents)
    // Every series starts at 0, so that Prometheus sees the first error as an increase.
    for (const operation of BLOB_OPERATIONS)
      setBlobErrors(operation, blobErrors.get(operation) ?? 0)
  }

  return () =>
    update().catch((error: unknown) => {
      reset()
      throw error
    })
}

const reuseRatio = (reused: number, exported: number): number =>
  reused === 0 ? 0 : reused / (reused + exported)
