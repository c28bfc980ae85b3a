import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextEvent } from 'node:timers/promises'
import {
  databaseOptions,
  type Engine,
  onEachEngine,
  openDatabase,
} from '../../../../test/support/databases.ts'
import { connect } from './connect.ts'
import { prepared } from './prepared.ts'
import { upgradeSchema } from './upgrade.ts'

async function loginScene(t: TestContext, engine: Engine) {
  const { db } = await openDatabase(t, engine)
  let readings = 0
  const loginOf = prepared(
    (db, { id }: { id: number }) => db.selectFrom('accounts').select('login').where('id', '=', id),
    ([row]) => {
      readings += 1
      return row?.login
    },
  )
  const account = { login: '0', login_key: 'a', type: 'User', site_admin: 0, created_at: 0 }
  const { id } = await db
    .insertInto('accounts')
    .values(account)
    .returning('id')
    .executeTakeFirstOrThrow()
  return {
    id,
    query: (of = id) => loginOf(db, { id: of }),
    rename: (login: string) =>
      db.updateTable('accounts').set({ login }).where('id', '=', id).execute(),
    readings: () => readings,
  }
}

onEachEngine('a prepared query', (engine) => {
  test('concurrent callers get the same result, on PostgreSQL from one statement', async (t) => {
    const { query, readings } = await loginScene(t, engine)
    const results = await Promise.all(Array.from({ length: 50 }, () => query()))
    assert.deepEqual(new Set(results), new Set(['0']))
    if (engine === 'postgres') assert.equal(readings(), 1)
  })

  test('a result is never older than its call', async (t) => {
    const { query, rename } = await loginScene(t, engine)
    for (let round = 1; round <= 100; round += 1) {
      const early = [query(), query(), query()]
      await rename(String(round))
      const late = [query(), query(), query()]
      assert.deepEqual(await Promise.all(late), Array(3).fill(String(round)))
      await Promise.all(early)
    }
  })

  test('calls with different parameters have different results', async (t) => {
    const { id, query } = await loginScene(t, engine)
    assert.deepEqual(await Promise.all([query(), query(id + 1), query(), query(id + 1)]), [
      '0',
      undefined,
      '0',
      undefined,
    ])
  })
})

onEachEngine('a row written by another process', (engine) => {
  test('is seen from the next turn of the event loop on', async (t) => {
    const options = await databaseOptions(t, engine)
    const [here, elsewhere] = [await connect(options), await connect(options)]
    t.after(() => Promise.all([here.close(), elsewhere.close()]))
    await upgradeSchema(here)
    const countOf = prepared(
      (db, { type }: { type: string }) =>
        db
          .selectFrom('accounts')
          .select((eb) => eb.fn.countAll<number>().as('total'))
          .where('type', '=', type),
      ([row]) => row!.total,
    )
    for (let total = 0; total < 20; total++) {
      // Each request arrives in a new turn of the event loop. Within one turn, SQLite may not notice a commit of another process.
      await nextEvent()
      assert.deepEqual(
        [await countOf(here.db, { type: 'User' }), await countOf(here.db, { type: 'User' })],
        [total, total],
      )
      const login = `account-${total}`
      const account = { login, login_key: login, type: 'User', site_admin: 0, created_at: 0 }
      await elsewhere.db.insertInto('accounts').values(account).execute()
    }
  })
})

test('a failed query fails for all its callers, and the next call runs it again', async (t) => {
  const { db } = await openDatabase(t, 'postgres')
  const missing = prepared(
    (db, { id }: { id: number }) =>
      db
        .selectFrom('no_such_table' as 'accounts')
        .select('id')
        .where('id', '=', id),
    (rows) => rows,
  )
  const results = await Promise.allSettled([1, 2, 3].map(() => missing(db, { id: 1 })))
  assert.ok(results.every(({ status }) => status === 'rejected'))
  await assert.rejects(async () => missing(db, { id: 1 }))
})

test('on PostgreSQL, concurrent calls with different parameters run as one query', async (t) => {
  const { db, pool } = await openDatabase(t, 'postgres')
  const logins = ['ada', 'bob', 'cyd']
  for (const login of logins) {
    const account = { login, login_key: login, type: 'User', site_admin: 0, created_at: 0 }
    await db.insertInto('accounts').values(account).execute()
  }
  const fromId = prepared(
    (db, { id, type }: { id: number; type: string }) =>
      db
        .selectFrom('accounts')
        .select('login')
        .where('id', '>=', id)
        .where('type', '=', type)
        .orderBy('id'),
    (rows) => rows.map(({ login }) => login),
  )
  await fromId(db, { id: 1, type: 'User' })
  let queries = 0
  pool!.on('acquire', () => {
    queries += 1
  })
  const queried = [1, 2, 3, 4].map((id) => fromId(db, { id, type: 'User' }))
  assert.deepEqual(await Promise.all(queried), [logins, ['bob', 'cyd'], ['cyd'], []])
  assert.equal(queries, 1)
})
