import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseOptions } from '../../../../test/support/databases.ts'
import {
  fastSettings,
  ignoreErrors,
  NEVER,
  openQueue,
  timeLimit,
} from '../../../../test/support/pg-boss-scene.ts'
import { connect } from '../db/connect.ts'
import { createPgBossQueue } from './pg-boss.ts'
import { handlers, queueContract } from './queue.contract.ts'
import { queueNames } from './queue.ts'

queueContract('pg-boss', openQueue)

test('six processes can start at the same time on an empty database', timeLimit, async (t) => {
  const { databaseUrl } = await databaseOptions(t, 'postgres')
  const { db, close } = await connect({ dataDirectory: '', databaseUrl })
  t.after(close)
  const queues = Array.from({ length: 6 }, () =>
    createPgBossQueue({ databaseUrl: databaseUrl!, db, ...ignoreErrors }),
  )
  t.after(() => Promise.all(queues.map((queue) => queue.stop())))
  await Promise.all(queues.map((queue) => queue.start()))
})

test('a backlog and later jobs are run without polling', timeLimit, async (t) => {
  const { queue, enqueue } = await openQueue(t, { ...fastSettings, pollIntervalMs: NEVER })
  await enqueue(Array.from({ length: 50 }, (_, i) => i))
  const seen = new Set<unknown>()
  const { promise: all, resolve } = Promise.withResolvers<void>()
  queue.work(
    handlers(async ({ payload }, { finish }) => {
      await finish(async () => {})
      seen.add(payload)
      if (seen.size === 50) await enqueue(['later'])
      if (payload === 'later') resolve()
    }),
    { concurrency: 3, ...ignoreErrors },
  )
  await all
  assert.equal(seen.size, 51)
})

test('workers of every queue are notified when a job is committed', timeLimit, async (t) => {
  const { db, queue } = await openQueue(t, { ...fastSettings, pollIntervalMs: NEVER })
  for (const line of queueNames) {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    queue.work(
      handlers(async (_job, { finish }) => {
        await finish(async () => {})
        resolve()
      }),
      { concurrency: 1, queue: line, ...ignoreErrors },
    )
    await db.transaction().execute((tx) => queue.enqueue(tx, 'task', [null], 'batch', line))
    await done
  }
})

test('a stop does not count as a failed attempt', timeLimit, async (t) => {
  const { queue, enqueue } = await openQueue(t)
  await enqueue([null])
  for (let i = 0; i < 3; i++) {
    const started = Promise.withResolvers<void>()
    const { stop } = queue.work(
      handlers(async (_job, { signal }) => {
        started.resolve()
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        )
      }),
      { concurrency: 1, ...ignoreErrors },
    )
    await started.promise
    await stop()
  }
  const done = Promise.withResolvers<void>()
  queue.work(
    handlers(
      async (_job, { finish }) => done.resolve(finish(async () => {})),
      async (_tx, _job, reason) => done.reject(new Error(reason)),
    ),
    { concurrency: 1, ...ignoreErrors },
  )
  await done.promise
})

test('a job of an unknown kind stays in the queue for other processes', timeLimit, async (t) => {
  const { db, queue } = await openQueue(t)
  const refused = Promise.withResolvers<unknown>()
  await db.transaction().execute((tx) => queue.enqueue(tx, 'new kind', [null], 'batch'))
  queue.work({}, { concurrency: 1, onError: refused.resolve })
  assert.match(String(await refused.promise), /"new kind"/)
  assert.equal((await queue.backlog())[0]?.jobs, 1)
})

test('cancelling a batch aborts it in other processes at once', timeLimit, async (t) => {
  const { db, queue, databaseUrl, enqueue } = await openQueue(t)
  const silent = { ...fastSettings, pollIntervalMs: NEVER, renewIntervalMs: NEVER }
  const other = createPgBossQueue({ databaseUrl, db, ...ignoreErrors, ...silent })
  t.after(other.stop)
  await other.start()
  const started = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  other.work(
    handlers(async (_job, { signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      started.resolve()
      await stopped.promise
    }),
    { concurrency: 1, ...ignoreErrors },
  )
  await enqueue([null], 'off')
  await started.promise
  await db.transaction().execute((tx) => queue.cancel(tx, 'off'))
  await stopped.promise
})
