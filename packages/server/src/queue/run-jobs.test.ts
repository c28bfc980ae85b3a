import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { until } from '../../../../test/support/wait-until.ts'
import type { Db } from '../db/database.ts'
import { type Handler, type QueueName, queueNames, RetryLater } from './queue.ts'
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

/** Runs one job with these many lost workers until it is removed or returned. `transact` runs in each of its transactions. */
async function runOne(
  t: TestContext,
  handler: Partial<Handler>,
  { failures = 0, transact = () => {} }: { failures?: number; transact?: () => void } = {},
) {
  const job = { id: '1', kind: 'task', payload: null, failures, batch: 'batch' }
  const jobs = [job]
  const returned: boolean[] = []
  const removed: unknown[] = []
  const errors: unknown[] = []
  const store: JobStore<HeldJob> = {
    claim: async () => jobs.splice(0),
    renew: async () => true,
    remove: async () => true,
    returnToQueue: async (_job, { isFailure }) => void returned.push(isFailure),
  }
  const execute = async (write: (tx: Db) => Promise<unknown>) => {
    const result = await write({} as Db)
    transact()
    removed.push(result)
    return result
  }
  const db = { transaction: () => ({ execute }) } as unknown as Db
  const workers = createWorkers({ db, store, timing })
  const run = async () => {}
  const onGiveUp = async () => {}
  workers.work(
    { task: { run, onGiveUp, ...handler } },
    { concurrency: 1, onError: (error) => errors.push(error) },
  )
  t.after(() => workers.stop())
  await until('it has ended', () => returned.length + removed.length > 0)
  return { returned, removed, errors }
}

const deadlock = () => Object.assign(new Error('deadlock detected'), { code: '40P01' })

test('a transaction of a job that ends in a deadlock is repeated, and nothing is reported', async (t) => {
  let runs = 0
  let deadlocks = 2
  const transact = () => {
    if (deadlocks-- > 0) throw deadlock()
  }
  const run: Handler['run'] = async (_job, { finish }) => {
    runs++
    await finish(async () => 'written')
  }
  const ended = await runOne(t, { run }, { transact })
  assert.deepEqual({ runs, ...ended }, { runs: 1, returned: [], removed: ['written'], errors: [] })
})

test('a deadlock elsewhere in a job postpones it, and is not a failure', async (t) => {
  const run = () => Promise.reject(deadlock())
  const { returned, errors } = await runOne(t, { run })
  assert.deepEqual(returned, [false])
  assert.ok(errors[0] instanceof RetryLater)
})

test('a job that lost its workers is given up, unless its kind is always run again', async (t) => {
  const run: Handler['run'] = async (_job, { finish }) => {
    await finish(async () => 'done')
  }
  const lost = { failures: timing.maxFailures }
  assert.deepEqual((await runOne(t, { run }, lost)).removed, [undefined])
  assert.deepEqual((await runOne(t, { run, retriesAfterWorkerDeath: true }, lost)).removed, [
    'done',
  ])
})
