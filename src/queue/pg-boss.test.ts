import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { databaseOptions } from '../../test/support/databases.ts'
import { connect, type Db } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { createPgBossQueue, type PgBossQueueOptions } from './pg-boss.ts'
import { handlers, insertAccount, logins, queueContract } from './queue.contract.ts'

const quick = {
  superviseSeconds: 1,
  keepEveryMs: 50,
  lookEveryMs: 20,
  firstPauseMs: 1,
  mostFailures: 2,
}
/** Nothing is found but by being told of it. */
const unasked = { ...quick, lookEveryMs: 2 ** 31 - 1 }
/** Who waits for what never comes fails, rather than wait on. */
const bounded = { timeout: 60_000 }
const quietly = { onTrouble: () => {} }

async function openQueue(t: TestContext, settings: Partial<PgBossQueueOptions> = quick) {
  const options = await databaseOptions(t, 'postgres')
  const database = connect(options)
  await upgradeSchema(database)
  const { db } = database
  const databaseUrl = options.databaseUrl!
  const queue = createPgBossQueue({ databaseUrl, db, ...quietly, ...settings })
  t.after(async () => {
    await queue.stop()
    await database.close()
  })
  await queue.start()
  const enqueue = (payloads: unknown[], batch = 'batch') =>
    db.transaction().execute((tx) => queue.enqueue(tx, 'task', payloads, batch))
  return { db, queue, databaseUrl, enqueue }
}

/** What pg-boss sees when the holders of jobs have been silent for long; again until it has acted on that. */
async function fallSilent(db: Db, isActedOn: () => boolean): Promise<void> {
  while (!isActedOn()) {
    await sql`update godwit_queue.job set heartbeat_on = now() - interval '1 hour'
      where state = 'active'`.execute(db)
    await sleep(20)
  }
}

queueContract('pg-boss', openQueue)

test('six processes may start at once on an empty database', bounded, async (t) => {
  const { databaseUrl } = await databaseOptions(t, 'postgres')
  const { db, close } = connect({ dataDirectory: '', databaseUrl })
  t.after(close)
  const queues = Array.from({ length: 6 }, () =>
    createPgBossQueue({ databaseUrl: databaseUrl!, db, ...quietly }),
  )
  t.after(() => Promise.all(queues.map((queue) => queue.stop())))
  await Promise.all(queues.map((queue) => queue.start()))
})

test(
  'a backlog and what comes later are done without anyone looking unasked',
  bounded,
  async (t) => {
    const { queue, enqueue } = await openQueue(t, unasked)
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
      { concurrency: 3, ...quietly },
    )
    await all
    assert.equal(seen.size, 51)
  },
)

test(
  'a job whose worker falls silent goes to another, and the first is told to stop',
  bounded,
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
      { concurrency: 2, ...quietly },
    )
    await enqueue([null])
    await first.promise
    await fallSilent(db, () => runs === 2)
    await ended.promise
    assert.deepEqual(ends.sort(), ['1 LostJob', '2 wrote'])
  },
)

test(
  'what loses every worker is given up, by whoever comes next, exactly once',
  bounded,
  async (t) => {
    const { db, queue, enqueue } = await openQueue(t, { ...quick, keepEveryMs: 2 ** 31 - 1 })
    const told: string[] = []
    const gaveUp = Promise.withResolvers<void>()
    let runs = 0
    queue.work(
      handlers(
        async (_job, { signal }) => {
          runs++
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        },
        async (_tx, _job, reason) => {
          told.push(reason)
          // As if the process died before the commit.
          if (told.length === 1) throw new Error('no commit')
          gaveUp.resolve()
        },
      ),
      { concurrency: 9, ...quietly },
    )
    await enqueue([null])
    await fallSilent(db, () => told.length === 2)
    await gaveUp.promise
    assert.equal(runs, 2)
    assert.deepEqual(told, ['its worker was lost', 'its worker was lost'])
    while ((await queue.backlog()).length > 0) await sleep(5)
  },
)

test(
  'a connection that is cut in the middle of finishing writes nothing, and the job is done again',
  bounded,
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
      { concurrency: 1, ...quietly },
    )
    await enqueue([null])
    await done.promise
    assert.deepEqual(await logins(db), ['run-2'])
  },
)

test('stopping costs a job none of its tries', bounded, async (t) => {
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
      { concurrency: 1, ...quietly },
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
    { concurrency: 1, ...quietly },
  )
  await done.promise
})

test('a kind that is unknown here is left to those who know it', bounded, async (t) => {
  const { db, queue } = await openQueue(t)
  const refused = Promise.withResolvers<unknown>()
  await db.transaction().execute((tx) => queue.enqueue(tx, 'of tomorrow', [null], 'batch'))
  queue.work({}, { concurrency: 1, onTrouble: refused.resolve })
  assert.match(String(await refused.promise), /"of tomorrow"/)
  assert.equal((await queue.backlog())[0]?.jobs, 1)
})

test('calling a batch off stops it in other processes at once', bounded, async (t) => {
  const { db, queue, databaseUrl, enqueue } = await openQueue(t)
  const silent = { ...unasked, keepEveryMs: 2 ** 31 - 1 }
  const other = createPgBossQueue({ databaseUrl, db, ...quietly, ...silent })
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
    { concurrency: 1, ...quietly },
  )
  await enqueue([null], 'off')
  await started.promise
  await db.transaction().execute((tx) => queue.cancel(tx, 'off'))
  await stopped.promise
})

test(
  'a job that is being taken over while its batch is called off does not come back',
  bounded,
  async (t) => {
    const { db, queue, enqueue } = await openQueue(t)
    await enqueue([null], 'off')
    const moved = Promise.withResolvers<void>()
    // What pg-boss does in one statement, held open: the row is deleted and inserted anew.
    const moving = db.transaction().execute(async (tx) => {
      await sql`with gone as (delete from godwit_queue.job returning *)
      insert into godwit_queue.job select * from gone`.execute(tx)
      moved.resolve()
      await untilSomeoneWaits(db)
    })
    await moved.promise
    await db.transaction().execute((tx) => queue.cancel(tx, 'off'))
    await moving
    assert.deepEqual(await queue.backlog(), [])
  },
)

async function untilSomeoneWaits(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    if (rows.length > 0) return
  }
}
