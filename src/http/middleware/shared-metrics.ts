import { Gauge, type Registry } from 'prom-client'
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

/** Workers look for what is due several times a minute. */
const OVERDUE_AFTER_MS = 5 * 60_000

export interface SharedMetricsParts {
  db: Db
  queue: Queue
  now: () => number
}

function createGauges(register: Registry) {
  const gauge = (name: string, help: string, label: string) => {
    const made = new Gauge({ name, help, labelNames: [label], registers: [register] })
    return {
      reset: () => made.reset(),
      set: (of: string, value: number) => made.set({ [label]: of }, value),
    }
  }
  return {
    jobs: gauge('godwit_queue_jobs', 'Waiting and running jobs', 'kind'),
    oldest: gauge('godwit_queue_oldest_seconds', 'Age of the oldest job', 'kind'),
    migrations: gauge('godwit_migrations', 'Migrations by state', 'state'),
    repositories: gauge('godwit_repositories', 'Repositories by result', 'outcome'),
    bytes: gauge('godwit_repository_bytes', 'Bytes of repositories by result', 'outcome'),
    reuse: gauge('godwit_reuse_ratio', 'Share of the exported repositories that were reused', 'of'),
    schedules: gauge('godwit_schedules', 'Schedules by state', 'state'),
    deliveries: gauge('godwit_webhook_deliveries', 'Deliveries to webhooks by result', 'outcome'),
    checks: gauge('godwit_store_checks', 'Stored segments and archives read again', 'result'),
    checkBytes: gauge('godwit_store_check_bytes', 'Bytes of stored data read again', 'result'),
    segments: gauge('godwit_segments', 'Stored segments by state', 'state'),
    oldestCheck: gauge('godwit_store_oldest_check_seconds', 'Age of the oldest check', 'of'),
    events: gauge('godwit_webhook_events', 'Events of webhooks that wait', 'state'),
    blobErrors: gauge('godwit_blob_errors', 'Errors of the blob store', 'operation'),
  }
}

/** What all processes on one database have in common: each of them tells the same, as it is when it is asked. */
export function sharedMetrics(register: Registry, parts: SharedMetricsParts): () => Promise<void> {
  const gauges = createGauges(register)

  async function read(): Promise<void> {
    const { db, queue, now } = parts
    const [
      backlog,
      unfinished,
      tallies,
      blobErrors,
      schedules,
      deliveries,
      waiting,
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
    // Nothing of the last time stays, but for what is there still.
    clear()
    for (const { kind, jobs, oldest } of backlog) {
      gauges.jobs.set(kind, jobs)
      gauges.oldest.set(kind, (now() - oldest) / 1000)
    }
    for (const [state, count] of unfinished) gauges.migrations.set(state, count)
    for (const { name, count, bytes } of tallies) {
      const [what, how] = name.split(' ') as ['migrations' | 'repositories', string]
      gauges[what].set(how, count)
      if (what === 'repositories') gauges.bytes.set(how, bytes)
    }
    const of = (name: string) => tallies.find((tally) => tally.name === name)!
    const [made, reused] = [of('repositories exported'), of('repositories reused')]
    gauges.reuse.set('repositories', share(reused.count, made.count))
    gauges.reuse.set('bytes', share(reused.bytes, made.bytes))
    for (const [state, count] of Object.entries(schedules)) gauges.schedules.set(state, count)
    for (const [outcome, count] of deliveries) gauges.deliveries.set(outcome, count)
    for (const { result, count, bytes } of checks.results) {
      gauges.checks.set(result, count)
      gauges.checkBytes.set(result, bytes)
    }
    gauges.segments.set('intact', stored.count - checks.damaged)
    gauges.segments.set('damaged', checks.damaged)
    if (checks.oldestAt !== null)
      gauges.oldestCheck.set('segments', (now() - checks.oldestAt) / 1000)
    gauges.events.set('waiting', waiting)
    for (const [operation, count] of blobErrors) gauges.blobErrors.set(operation, count)
  }

  function clear(): void {
    for (const each of Object.values(gauges)) each.reset()
  }

  return () =>
    read().catch((error: unknown) => {
      clear()
      throw error
    })
}

const share = (some: number, others: number): number => (some === 0 ? 0 : some / (some + others))
