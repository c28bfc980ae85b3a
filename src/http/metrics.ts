import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Db } from '../db/connect.ts'
import { countUnfinishedByState, readTallies } from '../migrations/tally-store.ts'
import type { Queue } from '../queue/queue.ts'
import { getMetrics } from './description/openapi-service.ts'

export interface MetricsParts {
  db: Db
  queue: Queue
  now: () => number
}

/** `GET /metrics` for Prometheus. What is shared by all processes is read from the database when it is asked for. */
export function metrics(app: FastifyInstance, parts: MetricsParts): void {
  const register = new Registry()
  collectDefaultMetrics({ register })
  countRequests(app, register)
  sharedGauges(register, parts)
  app.get('/metrics', { schema: getMetrics }, async (_request, reply) =>
    reply.type(register.contentType).send(await register.metrics()),
  )
}

function countRequests(app: FastifyInstance, register: Registry): void {
  const labelNames = ['method', 'route', 'status']
  const requests = new Counter({
    name: 'godwit_http_requests_total',
    help: 'Requests answered by this process',
    labelNames,
    registers: [register],
  })
  const seconds = new Histogram({
    name: 'godwit_http_request_seconds',
    help: 'How long answers took',
    labelNames: ['route'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [register],
  })
  app.addHook('onResponse', async (request, reply) => {
    // The pattern, never the path: what is asked for must not make new series.
    const route = request.routeOptions.url ?? 'none'
    requests.inc({ method: request.method, route, status: reply.statusCode })
    seconds.observe({ route }, reply.elapsedTime / 1000)
  })
}

function sharedGauges(register: Registry, { db, queue, now }: MetricsParts): void {
  const gauge = (name: string, help: string, label: string, read: (set: Set) => Promise<void>) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [register],
      async collect() {
        this.reset()
        await read((of, value) => this.set({ [label]: of }, value))
      },
    })

  gauge('godwit_queue_jobs', 'Jobs that wait or run', 'kind', async (set) => {
    for (const { kind, jobs } of await queue.backlog()) set(kind, jobs)
  })
  gauge('godwit_queue_oldest_seconds', 'Age of the oldest job', 'kind', async (set) => {
    for (const { kind, oldest } of await queue.backlog()) set(kind, (now() - oldest) / 1000)
  })
  gauge('godwit_migrations_unfinished', 'Migrations that have not ended', 'state', async (set) => {
    for (const [state, count] of await countUnfinishedByState(db)) set(state, count)
  })
  gauge('godwit_ended', 'What has ended so far, by what it was', 'what', async (set) => {
    for (const { name, count } of await readTallies(db)) set(name, count)
  })
  gauge('godwit_ended_bytes', 'Bytes of what has ended so far', 'what', async (set) => {
    for (const { name, bytes } of await readTallies(db)) set(name, bytes)
  })
}

type Set = (label: string, value: number) => void
