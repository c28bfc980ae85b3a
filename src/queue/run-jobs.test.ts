import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { until } from '../../test/support/wait-until.ts'
import type { Db } from '../db/database.ts'
import { type QueueName, queueNames } from './queue.ts'
import { createWorkers, type HeldJob, type JobStore } from './run-jobs.ts'

const NEVER = 2 ** 31 - 1
const timing = {
  renewIntervalMs: NEVER,
  pollIntervalMs: NEVER,
  retryPauseMs: 0,
  retryLaterPauseMs: 0,
  maxFailures: 1,
}

/** Starts an idle worker for every queue. Returns how often each has looked for jobs. */
async function idleWorkers(t: TestContext) {
  const looks: Record<QueueName, number> = { jobs: 0, webhooks: 0 }
  const store: Pick<JobStore<HeldJob>, 'claim'> = {
    async claim(_atMost, queue) {
      looks[queue]++
      return []
    },
  }
  const workers = createWorkers({ db: {} as Db, store: store as JobStore<HeldJob>, timing })
  for (const queue of queueNames) workers.work({}, { concurrency: 1, queue, onError: () => {} })
  t.after(() => workers.stop())
  await until('each has looked once', () => queueNames.every((queue) => looks[queue] === 1))
  return { workers, looks }
}

test('waking one queue does not wake the others', async (t) => {
  const { workers, looks } = await idleWorkers(t)
  workers.wake('webhooks')
  await until('it has looked again', () => looks.webhooks === 2)
  assert.equal(looks.jobs, 1)
})

test('waking without a name wakes all queues', async (t) => {
  const { workers, looks } = await idleWorkers(t)
  workers.wake()
  await until('all have looked again', () => queueNames.every((queue) => looks[queue] === 2))
})
