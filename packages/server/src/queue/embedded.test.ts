import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { claimJob, embeddedQueue, releaseAllJobs } from './embedded.ts'
import { enqueue, handlers, queueContract } from './queue.contract.ts'
import { LeaseLost } from './queue.ts'

const quick = { pollIntervalMs: 20, retryPauseMs: 1, retryLaterPauseMs: 1, maxFailures: 2 }

onEachEngine('the embedded queue', (engine) => {
  queueContract(`embedded on ${engine}`, async (t) => {
    const { db } = await openDatabase(t, engine)
    return { db, queue: embeddedQueue({ db, ...quick }) }
  })

  test('two workers never claim the same job', async (t) => {
    const { db } = await openDatabase(t, engine)
    const queue = embeddedQueue({ db })
    for (let i = 0; i < 20; i++) await enqueue({ db, queue }, i)
    const now = Date.now() + 1000
    const claims = await Promise.all(Array.from({ length: 40 }, () => claimJob(db, now, 60_000)))
    const held = claims.flatMap((job) => (job ? [job.payload] : []))
    assert.deepEqual(
      held.sort((a, b) => Number(a) - Number(b)),
      Array.from({ length: 20 }, (_, i) => i),
    )
  })

  test('a worker whose lease expired is aborted and cannot write', async (t) => {
    const { db } = await openDatabase(t, engine)
    const queue = embeddedQueue({ db, ...quick, leaseMs: 300 })
    const outcome = Promise.withResolvers<unknown>()
    const { stop } = queue.work(
      handlers(async (_job, { finish, signal }) => {
        const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
        // Another process takes the job over, as after an expired lease.
        await releaseAllJobs(db, 0)
        assert.ok(await claimJob(db, Date.now(), 60_000))
        await aborted
        outcome.resolve(await finish(async () => 'written').catch((error: unknown) => error))
      }),
      { concurrency: 1, onError: () => {} },
    )
    t.after(stop)
    await enqueue({ db, queue }, null)
    assert.ok((await outcome.promise) instanceof LeaseLost)
  })

  test('a worker whose lease expired cannot return the job to the queue', async (t) => {
    const { db } = await openDatabase(t, engine)
    const queue = embeddedQueue({ db, ...quick })
    let taken: string | undefined
    const { stop } = queue.work(
      handlers(async () => {
        await releaseAllJobs(db, 0)
        taken = (await claimJob(db, Date.now(), 60_000))?.lease
        throw new Error('failed after it lost its lease')
      }),
      { concurrency: 1, onError: () => {} },
    )
    t.after(stop)
    await enqueue({ db, queue }, null)
    await until('the handler has failed', () => taken !== undefined && queue.running() === 0)
    const { lease, failures } = await db
      .selectFrom('jobs')
      .select(['lease', 'failures'])
      .executeTakeFirstOrThrow()
    assert.deepEqual([lease, failures], [taken, 1])
  })

  test('a job whose process was suspended for longer than its lease goes on, and is not run twice', async (t) => {
    const { db } = await openDatabase(t, engine)
    let now = Date.now()
    const queue = embeddedQueue({ db, ...quick, now: () => now })
    const started: unknown[] = []
    const resumed = Promise.withResolvers<void>()
    t.after(() => resumed.resolve())
    const outcomes: unknown[] = []
    const { stop } = queue.work(
      handlers(async ({ payload }, { finish }) => {
        started.push(payload)
        if (payload === 'long') await resumed.promise
        outcomes.push(await finish(async () => payload).catch((error: unknown) => error))
      }),
      { concurrency: 2, onError: () => {} },
    )
    t.after(stop)
    await enqueue({ db, queue }, 'long')
    await until('the job runs', () => started.length === 1)
    now += 10 * 60_000
    // After it, the worker has looked for jobs.
    await enqueue({ db, queue }, 'other')
    await until('another job has run', () => outcomes.length > 0)
    resumed.resolve()
    await until('the job has ended', () => queue.running() === 0)
    assert.deepEqual(started, ['long', 'other'])
    assert.deepEqual(outcomes, ['other', 'long'])
  })

  test('jobs that were claimed before the database failed are run', async (t) => {
    const { db } = await openDatabase(t, engine)
    const queue = embeddedQueue({ db, ...quick })
    for (const payload of [1, 2]) await enqueue({ db, queue }, payload)
    let claims = 0
    const failing = new Proxy(db, {
      get(target, name) {
        if (name === 'updateTable' && ++claims === 2) throw new Error('the disk is full')
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const seen: unknown[] = []
    const { stop } = embeddedQueue({ db: failing, ...quick }).work(
      handlers(async ({ payload, failures }, { finish }) => {
        seen.push([payload, failures])
        await finish(async () => {})
      }),
      { concurrency: 2, onError: () => {} },
    )
    t.after(stop)
    await until('both have run', () => seen.length === 2)
    assert.deepEqual(seen, [
      [1, 0],
      [2, 0],
    ])
  })

  test('a job that kills its process each time is given up, like one that fails', async (t) => {
    const { db } = await openDatabase(t, engine)
    const queue = embeddedQueue({ db, ...quick, maxFailures: 5 })
    await enqueue({ db, queue }, 'deadly')
    for (let kills = 0; kills < 5; kills++) {
      const claimed = await claimJob(db, Date.now(), 60_000)
      assert.equal(claimed?.failures, kills)
      // The only process does this when it starts after a kill.
      await releaseAllJobs(db, Date.now())
    }
    const onGiveUp = Promise.withResolvers<unknown>()
    const { stop } = queue.work(
      handlers(
        async () => onGiveUp.reject(new Error('it was run again')),
        async (_tx, { payload }, reason) => onGiveUp.resolve([payload, reason]),
      ),
      { concurrency: 1, onError: () => {} },
    )
    t.after(stop)
    assert.deepEqual(await onGiveUp.promise, ['deadly', 'its worker was lost'])
  })

  test('an expired lease counts as a failure; a graceful stop does not', async (t) => {
    const { db } = await openDatabase(t, engine)
    const queue = embeddedQueue({ db, ...quick })
    const failures = async () =>
      (await db.selectFrom('jobs').select('failures').executeTakeFirstOrThrow()).failures
    await enqueue({ db, queue }, null)
    for (let stops = 0; stops < 3; stops++) {
      const started = Promise.withResolvers<void>()
      const working = queue.work(
        handlers(async (_job, { signal }) => {
          started.resolve()
          await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          )
        }),
        { concurrency: 1, onError: () => {} },
      )
      await started.promise
      await working.stop()
    }
    await releaseAllJobs(db, Date.now())
    assert.equal(await failures(), 0)
    const now = Date.now() + 1000
    assert.equal((await claimJob(db, now, 1000))?.failures, 0)
    assert.equal((await claimJob(db, now + 1000, 1000))?.failures, 1)
    assert.equal(await failures(), 1)
  })
})
