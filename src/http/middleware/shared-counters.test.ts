import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../../test/support/databases.ts'
import { countersInPostgres } from './shared-counters.ts'

const HOUR = 3_600_000

/** As two processes have them, on the same rows. */
async function twoOnPostgres(t: TestContext) {
  const { pool } = await openDatabase(t, 'postgres')
  const counters = [1, 2].map(() => countersInPostgres(HOUR, Date.now, pool!))
  let writes = 0
  const query = pool!.query.bind(pool)
  pool!.on('acquire', () => {
    writes += 1
  })
  return { counters, writes: () => writes, query: (sql: string) => query(sql) }
}

test('processes that share counters tell every count to exactly one, by few writes', async (t) => {
  const { counters, writes } = await twoOnPostgres(t)
  const counted = await Promise.all(
    Array.from({ length: 100 }, (_, n) => counters[n % 2]!.add('ada', 1)),
  )
  assert.deepEqual(
    counted.map(({ times }) => times).sort((a, b) => a - b),
    Array.from({ length: 100 }, (_, n) => n + 1),
  )
  assert.ok(writes() <= 6, `${writes()} writes`)
  assert.ok(counted.every(({ endsAt }) => endsAt > Date.now() + HOUR - 60_000))
})

test('what is given back is counted among the others, and keys do not mix', async (t) => {
  const { counters } = await twoOnPostgres(t)
  const [{ add }] = counters as [ReturnType<typeof countersInPostgres>]
  const counted = await Promise.all([
    add('ada', 1),
    add('ada', 1),
    add('bob', 1),
    add('ada', -1),
    add('ada', 1),
  ])
  assert.deepEqual(
    counted.map(({ times }) => times),
    [1, 2, 1, 1, 2],
  )
})

test('a database that refuses fails those who wait, and no later ones', async (t) => {
  const { counters, query } = await twoOnPostgres(t)
  const [{ add }] = counters as [ReturnType<typeof countersInPostgres>]
  await query('alter table rate_limits rename to elsewhere')
  const waiting = await Promise.allSettled([add('ada', 1), add('ada', 1)])
  assert.deepEqual(
    waiting.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await query('alter table elsewhere rename to rate_limits')
  assert.equal((await add('ada', 1)).times, 1)
})

test('a clock that is put back makes no shared window longer', async (t) => {
  const { pool } = await openDatabase(t, 'postgres')
  let time = Date.now()
  const { add, look } = countersInPostgres(HOUR, () => time, pool!)
  await add('ada', 2)
  time -= 60_000
  assert.equal((await look('ada')).times, 2, 'clocks of two machines may differ')
  time -= 24 * HOUR
  assert.deepEqual(await look('ada'), { times: 0, endsAt: time + HOUR })
  assert.deepEqual(await add('ada', 1), { times: 1, endsAt: time + HOUR })
})
