import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Db } from '../../db/database.ts'
import { readStoreChecks } from '../../migrations/segment-check-store.ts'
import { countSegments } from '../../migrations/segment-store.ts'
import {
  countUnfinishedByState,
  readBlobErrors,
  readTallies,
} from '../../migrations/tally-store.ts'
import type { Queue } from '../../queue/queue.ts'
import { countSchedulesByState } from '../../schedules/schedule-store.ts'
import { countWaitingEvents, readDeliveryTallies } from '../../webhooks/delivery-store.ts'
import { string } from '../../wire/schema.ts'
import type { Operation } from '../description/operation.ts'
import type { ConcurrencyLimit } from './concurrency-limit.ts'
import { type Dependency, withDeadline } from './dependencies.ts'
import { UNTRUSTED_FORWARDING } from './forwarding.ts'
import type { OnAnswered } from './request-log.ts'
import type { DownloadCounts } from './response-stream.ts'

export interface MetricsParts extends SharedMetricsParts {
  log: Logger
  dependencies: readonly Dependency[]
  /** Returns how many requests were answered 503 because the process was overloaded. */
  shed: () => number
  /** Returns how many requests had `x-forwarded-for` from an untrusted address. */
  untrusted: () => number
  cloneSlots: Pick<ConcurrencyLimit, 'running' | 'waiting'>
}

interface SharedMetricsParts {
  db: Db
  queue: Queue
  now: () => number
}

export interface Metrics {
  onAnswered: OnAnswered
  downloads: DownloadCounts
  clones: DownloadCounts
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

/** Adds `GET /metrics`, and returns the counters of this process that the server and its routes increment. */
export function addMetrics(app: FastifyInstance, parts: MetricsParts): Metrics {
  const register = new Registry()
  const metrics = processMetrics(register, parts)
  const readShared = sharedMetrics(register, parts)
  let isFirst = true

  app.get('/metrics', { schema: getMetrics }, async (_request, reply) => {
    // The default metrics need a timer that wakes the process 100 times a second: they start with the first scrape.
    if (isFirst) collectDefaultMetrics({ register })
    isFirst = false
    // Metrics of the process itself are returned even if the database does not answer.
    await withDeadline(readShared()).catch((err: unknown) =>
      parts.log.warn({ err }, 'could not read the shared metrics'),
    )
    return reply.type(register.contentType).send(await register.metrics())
  })
  return metrics
}

function processMetrics(register: Registry, parts: MetricsParts): Metrics {
  const { shed, untrusted, cloneSlots, dependencies } = parts
  const registers = [register]

  new Counter({
    name: 'godwit_http_shed_total',
    help: 'Requests that this process answered with 503 because it was overloaded',
    registers,
    collect() {
      this.reset()
      this.inc(shed())
    },
  })
  new Counter({
    name: UNTRUSTED_FORWARDING,
    help: 'Requests with x-forwarded-for from an untrusted address',
    registers,
    collect() {
      this.reset()
      this.inc(untrusted())
    },
  })
  // Downloads that the client fetches from a bucket do not pass through this process.
  const downloads = outcomeCounter(
    register,
    'godwit_downloads_total',
    'Downloads of archives through this process, by result',
  )
  const clones = outcomeCounter(
    register,
    'godwit_clone_requests_total',
    'Requests of git clients that this process ran git for, by result',
  )
  new Gauge({
    name: 'godwit_clone_requests',
    help: 'Requests of git clients that this process runs git for, and that wait for it',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'running' }, cloneSlots.running())
      this.set({ state: 'waiting' }, cloneSlots.waiting())
    },
  })
  new Gauge({
    name: 'godwit_dependency_up',
    help: 'Whether the dependencies of this process answer',
    labelNames: ['dependency'],
    registers,
    async collect() {
      const answers = await Promise.all(dependencies.map(({ isAvailable }) => isAvailable()))
      for (const [index, { name }] of dependencies.entries())
        this.set({ dependency: name }, Number(answers[index]))
    },
  })
  const requests = new Counter({
    name: 'godwit_http_requests_total',
    help: 'Requests answered by this process',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'godwit_http_request_seconds',
    help: 'Response times',
    labelNames: ['route'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  })
  return {
    onAnswered({ method, route = 'none', status, ms }) {
      requests.inc({ method, route, status })
      seconds.observe({ route }, ms / 1000)
    },
    downloads,
    clones,
  }
}

function outcomeCounter(register: Registry, name: string, help: string): DownloadCounts {
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [register] })
  // Every series exists from the start, so that its rate is known.
  for (const outcome of ['whole', 'ended_by_client', 'failed_at_source'])
    counter.inc({ outcome }, 0)
  return { add: (outcome) => counter.inc({ outcome }) }
}

/** Workers look for due schedules several times a minute. */
const OVERDUE_AFTER_MS = 5 * 60_000

/**
 * Adds the metrics that all processes on one database share: each process reports the same values. The returned function reads
 * them from the database; if that fails, no stale values stay.
 */
function sharedMetrics(
  register: Registry,
  { db, queue, now }: SharedMetricsParts,
): () => Promise<void> {
  const gauges: Gauge[] = []
  const gauge = (name: string, help: string, label: string) => {
    const added = new Gauge({ name, help, labelNames: [label], registers: [register] })
    gauges.push(added)
    return (value: string, count: number) => added.set({ [label]: value }, count)
  }
  const setJobs = gauge('godwit_queue_jobs', 'Waiting and running jobs', 'kind')
  const setOldestJob = gauge('godwit_queue_oldest_seconds', 'Age of the oldest job', 'kind')
  const setMigrations = gauge('godwit_migrations', 'Migrations by state', 'state')
  const setRepositories = gauge('godwit_repositories', 'Repositories by result', 'outcome')
  const setBytes = gauge('godwit_repository_bytes', 'Bytes of repositories by result', 'outcome')
  const setReuse = gauge(
    'godwit_reuse_ratio',
    'Share of the exported repositories that were reused',
    'of',
  )
  const setSchedules = gauge('godwit_schedules', 'Schedules by state', 'state')
  const setDeliveries = gauge(
    'godwit_webhook_deliveries',
    'Deliveries to webhooks by result',
    'outcome',
  )
  const setChecks = gauge(
    'godwit_store_checks',
    'Stored segments and archives read again',
    'result',
  )
  const setCheckedBytes = gauge(
    'godwit_store_check_bytes',
    'Bytes of stored data read again',
    'result',
  )
  const setSegments = gauge('godwit_segments', 'Stored segments by state', 'state')
  const setOldestCheck = gauge('godwit_store_oldest_check_seconds', 'Age of the oldest check', 'of')
  const setEvents = gauge('godwit_webhook_events', 'Events of webhooks that wait', 'state')
  const setBlobErrors = gauge('godwit_blob_errors', 'Errors of the blob store', 'operation')

  const reset = () => {
    for (const each of gauges) each.reset()
  }
  const secondsSince = (at: number) => (now() - at) / 1000

  async function read(): Promise<void> {
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
    ])
    reset()
    for (const { kind, jobs, oldest } of backlog) {
      setJobs(kind, jobs)
      setOldestJob(kind, secondsSince(oldest))
    }
    for (const [state, count] of unfinished) setMigrations(state, count)
    const byName = new Map(tallies.map((tally) => [tally.name as string, tally]))
    for (const { name, count, bytes } of tallies) {
      const [kind, result] = name.split(' ') as ['migrations' | 'repositories', string]
      if (kind === 'migrations') setMigrations(result, count)
      else {
        setRepositories(result, count)
        setBytes(result, bytes)
      }
    }
    const exported = byName.get('repositories exported')!
    const reused = byName.get('repositories reused')!
    setReuse('repositories', ratio(reused.count, exported.count))
    setReuse('bytes', ratio(reused.bytes, exported.bytes))
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
    for (const [operation, count] of blobErrors) setBlobErrors(operation, count)
  }

  return () =>
    read().catch((error: unknown) => {
      reset()
      throw error
    })
}

const ratio = (reused: number, exported: number): number =>
  reused === 0 ? 0 : reused / (reused + exported)
