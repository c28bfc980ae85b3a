import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Db } from '../../packages/server/src/db/database.ts'
import { handlers, insertAccount, logins } from '../../packages/server/src/queue/queue.contract.ts'
import {
  expireFirstHeartbeats,
  expireHeartbeats,
  fastSettings,
  ignoreErrors,
  NEVER,
  openQueue,
  timeLimit,
} from '../support/pg-boss-scene.ts'
import { until } from '../support/wait-until.ts'

test(
  'a job whose worker stops renewing goes to another worker, and the first is aborted',
  timeLimit,
  async (t) => {
    const { db, queue, enqueue } = await openQueue(t)
    const ends: string[] = []
    const first = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    let runs = 0
    queue.work(
      handlers(async (_job, { signal, finish }) => {
        const run = ++runs
        if (run === 1) {
          first.resolve()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        }
        await finish(async () => {}).then(
          () => ends.push(`${run} wrote`),
          (error: Error) => ends.push(`${run} ${error.name}`),
        )
        if (ends.length === 2) ended.resolve()
      }),
      { concurrency: 2, ...ignoreErrors },
    )
    await enqueue([null])
    await first.promise
    await expireFirstHeartbeats(db, () => runs === 2)
    await ended.promise
    assert.deepEqual(ends.sort(), ['1 LeaseLost', '2 wrote'])
  },
)

test('a job may run for longer than the expiry of pg-boss', timeLimit, async (t) => {
  const { db, queue, enqueue } = await openQueue(t)
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const ends: string[] = []
  queue.work(
    handlers(async (_job, { finish }) => {
      begun.resolve()
      await mayEnd.promise
      await finish(async () => {}).then(
        () => ends.push('wrote'),
        (error: Error) => ends.push(error.name),
      )
    }),
    { concurrency: 1, ...ignoreErrors },
  )
  await enqueue([null])
  await begun.promise
  const sinceStart = async () => {
    const { rows } = await sql<{ hours: number }>`
      select extract(epoch from now() - started_on) / 3600 as hours from godwit_queue.job`.execute(
      db,
    )
    return Number(rows[0]!.hours)
  }
  await sql`update godwit_queue.job set started_on = now() - interval '23 hours'`.execute(db)
  await until('its start was renewed', async () => (await sinceStart()) < 1)
  mayEnd.resolve()
  await until('it has ended', () => ends.length > 0)
  assert.deepEqual(ends, ['wrote'])
})

test(
  'a job that loses every worker is given up exactly once, by the next worker',
  timeLimit,
  async (t) => {
    const { db, queue, enqueue } = await openQueue(t, { ...fastSettings, renewIntervalMs: NEVER })
    const reasons: string[] = []
    const onGiveUp = Promise.withResolvers<void>()
    let runs = 0
    queue.work(
      handlers(
        async (_job, { signal }) => {
          runs++
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        },
        async (_tx, _job, reason) => {
          reasons.push(reason)
          // Simulates a process that dies before the commit.
          if (reasons.length === 1) throw new Error('no commit')
          onGiveUp.resolve()
        },
      ),
      { concurrency: 9, ...ignoreErrors },
    )
    await enqueue([null])
    await expireHeartbeats(db, () => reasons.length === 2)
    await onGiveUp.promise
    assert.equal(runs, 2)
    assert.deepEqual(reasons, ['its worker was lost', 'its worker was lost'])
    await until('no job is left', async () => (await queue.backlog()).length === 0)
  },
)

test(
  'a connection that breaks while a job is finished writes nothing, and the job is run again',
  timeLimit,
  async (t) => {
    const { db, queue, enqueue } = await openQueue(t)
    const done = Promise.withResolvers<void>()
    let runs = 0
    queue.work(
      handlers(async (_job, { finish }) => {
        const run = ++runs
        await finish(async (tx) => {
          await insertAccount(tx, `run-${run}`)
          if (run > 1) return
          await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`.execute(db)
        })
        done.resolve()
      }),
      { concurrency: 1, ...ignoreErrors },
    )
    await enqueue([null])
    await done.promise
    assert.deepEqual(await logins(db), ['run-2'])
  },
)

test(
  'a job that is taken over while its batch is cancelled does not come back',
  timeLimit,
  async (t) => {
    const { db, queue, enqueue } = await openQueue(t)
    await enqueue([null], 'off')
    const moved = Promise.withResolvers<void>()
    // pg-boss does this in one statement, here held open: it deletes the row and inserts a new one.
    const moving = db.transaction().execute(async (tx) => {
      await sql`with gone as (delete from godwit_queue.job returning *)
      insert into godwit_queue.job select * from gone`.execute(tx)
      moved.resolve()
      await untilLockWait(db)
    })
    await moved.promise
    await db.transaction().execute((tx) => queue.cancel(tx, 'off'))
    await moving
    assert.deepEqual(await queue.backlog(), [])
  },
)

const untilLockWait = (db: Db): Promise<unknown> =>
  until('a transaction waits for a lock', async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows.length > 0
  })
