import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { until } from '../../../../test/support/wait-until.ts'
import type { Db } from '../db/database.ts'
import {
  type Handler,
  type Job,
  LeaseLost,
  PermanentError,
  type Queue,
  type QueueName,
  RetryLater,
  type Run,
} from './queue.ts'

export interface QueueUnderTest {
  db: Db
  queue: Queue
}

/** Tests for every queue. `make` returns one with short pauses, which gives up a job after two failures. */
export function queueContract(
  name: string,
  make: (t: TestContext) => Promise<QueueUnderTest>,
): void {
  describe(`queue contract: ${name}`, () => {
    test('a job runs once, with its payload, when its transaction has committed', async (t) => {
      const { db, queue } = await make(t)
      const seen: unknown[] = []
      const done = Promise.withResolvers<void>()
      startWorker(t, queue, async (job, { finish }) => {
        seen.push(job.payload)
        await finish(async () => {})
        if (seen.length === 2) done.resolve()
      })
      const transaction = db.transaction().execute(async (tx) => {
        await queue.enqueue(tx, 'task', ['never'], 'batch')
        throw new Error('rolled back')
      })
      await assert.rejects(transaction)
      await enqueue({ db, queue }, { a: 1 })
      await enqueue({ db, queue }, { a: 2 })
      await done.promise
      assert.deepEqual(seen, [{ a: 1 }, { a: 2 }])
    })

    test('counts the jobs that run in this process', async (t) => {
      const { db, queue } = await make(t)
      const started = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      const done = Promise.withResolvers<void>()
      startWorker(t, queue, async (_job, { finish }) => {
        started.resolve()
        await released.promise
        await finish(async () => {})
        done.resolve()
      })
      assert.equal(queue.running(), 0)
      await enqueue({ db, queue }, null)
      await started.promise
      assert.equal(queue.running(), 1)
      released.resolve()
      await done.promise
      await until('no job runs', () => queue.running() === 0)
    })

    test('jobs of another queue are neither claimed nor waited for', async (t) => {
      const { db, queue } = await make(t)
      const seen: unknown[] = []
      const released = Promise.withResolvers<void>()
      t.after(() => released.resolve())
      startWorker(t, queue, async (job, { finish }) => {
        seen.push(job.payload)
        await released.promise
        await finish(async () => {})
      })
      const enqueueIn = (payloads: unknown[], batch: string, name?: QueueName) =>
        db.transaction().execute((tx) => queue.enqueue(tx, 'task', payloads, batch, name))
      await enqueueIn(['other', 'another'], 'other', 'webhooks')
      await enqueueIn(['ours'], 'ours')
      queue.wake()
      await until('the export job runs', () => seen.length === 1)
      const others: unknown[] = []
      const webhookWorker = queue.work(
        handlers(async (job, { finish }) => {
          others.push(job.payload)
          await finish(async () => {})
        }),
        { concurrency: 1, queue: 'webhooks', onError: () => {} },
      )
      t.after(webhookWorker.stop)
      await until('the webhook jobs are done, and the export job is left', async () => {
        const [left] = await queue.backlog()
        return others.length === 2 && left?.jobs === 1
      })
      assert.deepEqual([queue.running(), seen], [1, ['ours']])
      await webhookWorker.stop()
      await enqueueIn(['called off'], 'off', 'webhooks')
      await db.transaction().execute((tx) => queue.cancel(tx, 'off'))
      released.resolve()
      await until('nothing is left', async () => (await queue.backlog()).length === 0)
    })

    test('one transaction writes the result and removes the job', async (t) => {
      const { db, queue } = await make(t)
      const done = Promise.withResolvers<void>()
      let runs = 0
      startWorker(t, queue, async (_job, { finish }) => {
        runs++
        await finish(async (tx) => {
          await insertAccount(tx, `run-${runs}`)
          if (runs === 1) throw new Error('the disk hiccupped')
        })
        done.resolve()
      })
      await enqueue({ db, queue }, null)
      await done.promise
      assert.deepEqual(await logins(db), ['run-2'])
    })

    test('a job that keeps failing is given up, and its handler gets the reason', async (t) => {
      const { db, queue } = await make(t)
      const givenUp = Promise.withResolvers<string>()
      let runs = 0
      const failing = async () => {
        runs++
        throw new Error('still no luck')
      }
      startWorker(t, queue, failing, async (tx, _job, reason) => {
        await insertAccount(tx, 'given-up')
        givenUp.resolve(reason)
      })
      await enqueue({ db, queue }, null)
      assert.equal(await givenUp.promise, 'still no luck')
      assert.equal(runs, 2)
    })

    test('a permanent error is not retried', async (t) => {
      const { db, queue } = await make(t)
      const givenUp = Promise.withResolvers<void>()
      let runs = 0
      const failing = async () => {
        runs++
        throw new PermanentError('there is no such repository')
      }
      startWorker(t, queue, failing, async () => givenUp.resolve())
      await enqueue({ db, queue }, null)
      await givenUp.promise
      assert.equal(runs, 1)
    })

    test('RetryLater is retried without counting failures', async (t) => {
      const { db, queue } = await make(t)
      const ended = Promise.withResolvers<string>()
      let runs = 0
      const waiting: RunJob = async (_job, { finish }) => {
        if (++runs <= 4) throw new RetryLater('the store is unavailable')
        await finish(async () => {})
        ended.resolve('done')
      }
      startWorker(t, queue, waiting, async () => ended.resolve('given up'))
      await enqueue({ db, queue }, null)
      assert.equal(await ended.promise, 'done')
      assert.equal(runs, 5)
    })

    test('a job with a due time is not run before, and does not delay others', async (t) => {
      const { db, queue } = await make(t)
      let dueAt = 0
      const ran: { payload: unknown; at: number }[] = []
      const done = Promise.withResolvers<void>()
      startWorker(t, queue, async ({ payload }, { finish }) => {
        ran.push({ payload, at: Date.now() })
        if (ran.length === 1) {
          dueAt = Date.now() + 600
          throw new RetryLater('the forge asks to wait', { dueAt })
        }
        await finish(async () => {})
        if (payload === 'later') done.resolve()
      })
      await db
        .transaction()
        .execute((tx) => queue.enqueue(tx, 'task', ['later', 'another'], 'batch'))
      queue.wake()
      await done.promise
      assert.deepEqual(
        ran.map(({ payload }) => payload),
        ['later', 'another', 'later'],
      )
      // The clocks of the database and of this process may differ by a millisecond.
      assert.ok(ran[2]!.at >= dueAt - 50, `${dueAt - ran[2]!.at} ms too early`)
    })

    test('a stopped worker returns its job, and the next worker runs it', async (t) => {
      const { db, queue } = await make(t)
      const started = Promise.withResolvers<void>()
      const first = queue.work(
        handlers(async (_job, { signal }) => {
          started.resolve()
          await new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          })
        }),
        { concurrency: 1, onError: () => {} },
      )
      await enqueue({ db, queue }, 'again')
      await started.promise
      await first.stop()
      const done = Promise.withResolvers<unknown>()
      startWorker(t, queue, async (job, { finish }) => {
        await finish(async () => {})
        done.resolve(job.payload)
      })
      assert.equal(await done.promise, 'again')
    })

    test('jobs of a cancelled batch never start; running ones are aborted and cannot write', async (t) => {
      const { db, queue } = await make(t)
      const started = Promise.withResolvers<void>()
      const outcome = Promise.withResolvers<unknown>()
      const seen: unknown[] = []
      startWorker(t, queue, async (job, { signal, finish }) => {
        seen.push(job.payload)
        if (job.payload !== 'long') return finish(async () => {})
        started.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        outcome.resolve(await finish(async () => 'written').catch((error: unknown) => error))
      })
      await enqueue({ db, queue }, 'long', 'off')
      await started.promise
      await enqueue({ db, queue }, 'never', 'off')
      await db.transaction().execute((tx) => queue.cancel(tx, 'off'))
      queue.interrupt('off')
      assert.ok((await outcome.promise) instanceof LeaseLost)
      await enqueue({ db, queue }, 'other', 'on')
      await until('the other job has run', () => seen.includes('other'))
      assert.ok(!seen.includes('never'))
    })

    test('the backlog counts jobs by kind, with the age of the oldest', async (t) => {
      const { db, queue } = await make(t)
      const before = Date.now()
      await enqueue({ db, queue }, 1)
      await enqueue({ db, queue }, 2)
      const [tasks, ...others] = await queue.backlog()
      assert.deepEqual(others, [])
      assert.deepEqual({ kind: tasks?.kind, jobs: tasks?.jobs }, { kind: 'task', jobs: 2 })
      assert.ok(tasks!.oldest >= before && tasks!.oldest <= Date.now())
    })

    test('jobs run concurrently, up to the limit', async (t) => {
      const { db, queue } = await make(t)
      let running = 0
      let maxRunning = 0
      let ended = 0
      const done = Promise.withResolvers<void>()
      const twoRun = Promise.withResolvers<void>()
      const run = async (_job: Job, { finish }: Run) => {
        maxRunning = Math.max(maxRunning, ++running)
        if (running === 2) twoRun.resolve()
        await twoRun.promise
        await finish(async () => {})
        running--
        if (++ended === 6) done.resolve()
      }
      for (let i = 0; i < 6; i++) await enqueue({ db, queue }, i)
      startWorker(t, queue, run, undefined, 2)
      await done.promise
      assert.equal(maxRunning, 2)
    })
  })
}

type RunJob = Handler['run']

export function handlers(run: RunJob, onGiveUp: Handler['onGiveUp'] = async () => {}) {
  return { task: { run, onGiveUp } }
}

function startWorker(
  t: TestContext,
  queue: Queue,
  run: RunJob,
  onGiveUp?: Handler['onGiveUp'],
  concurrency = 1,
): void {
  const onError = (error: unknown) => {
    if (error instanceof LeaseLost) throw error
  }
  const { stop } = queue.work(handlers(run, onGiveUp), { concurrency, onError })
  t.after(stop)
}

export async function enqueue(
  { db, queue }: QueueUnderTest,
  payload: unknown,
  batch = 'batch',
): Promise<void> {
  await db.transaction().execute((tx) => queue.enqueue(tx, 'task', [payload], batch))
  queue.wake()
}

export async function insertAccount(tx: Db, login: string): Promise<void> {
  await tx
    .insertInto('accounts')
    .values({ login, login_key: login, type: 'User', site_admin: 0, created_at: 0 })
    .execute()
}

export async function logins(db: Db): Promise<string[]> {
  return (await db.selectFrom('accounts').select('login').execute()).map(({ login }) => login)
}
