import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { FastifyReply } from 'fastify'
import { openDatabase } from '../../../../../test/support/databases.ts'
import type { HttpError } from './http-errors.ts'
import { countersInMemory, countersInPostgres, createRateLimit } from './rate-limit.ts'
import type { Caller } from './request.ts'

test('concurrent additions each get their own count', async () => {
  const counters = countersInMemory(1000, () => 0)
  const counts = await Promise.all([1, 1, 1].map((by) => counters.add('one', by)))
  assert.deepEqual(
    counts.map(({ times }) => times),
    [1, 2, 3],
  )
})

test('an address without a token may make 60 requests an hour, and an account its own number', async () => {
  const limit = createRateLimit({ perHour: 62, pool: undefined }, () => 0)
  const reply = { header: () => reply } as unknown as FastifyReply
  const refusal = async (caller: Pick<Caller, 'ip'> & { viewer: unknown }) => {
    for (let request = 1; ; request++)
      try {
        await limit.count(caller as Caller, reply)
      } catch (error) {
        return [request, (error as HttpError).status]
      }
  }
  assert.deepEqual(await refusal({ viewer: null, ip: '192.0.2.1' }), [61, 403])
  // An address is a network of 64 bits in IPv6.
  assert.deepEqual(await refusal({ viewer: null, ip: '2001:db8::1' }), [61, 403])
  assert.deepEqual(await refusal({ viewer: null, ip: '2001:db8::ffff:1' }), [1, 403])
  const viewer = { account: { id: 7, login: 'alice' }, tokenId: 1 }
  assert.deepEqual(await refusal({ viewer, ip: '192.0.2.1' }), [63, 403])
})

test('a count restarts when its window has ended', async () => {
  let time = 0
  const counters = countersInMemory(1000, () => time)
  await counters.add('one', 2)
  assert.deepEqual(await counters.get('one'), { times: 2, endsAt: 1000 })
  time = 1000
  assert.deepEqual(await counters.add('one', 1), { times: 1, endsAt: 2000 })
})

test('setting the clock back does not extend a window', async () => {
  let time = 7_200_000
  const counters = countersInMemory(1000, () => time)
  await counters.add('one', 2)
  time = 0
  assert.deepEqual(await counters.get('one'), { times: 0, endsAt: 1000 })
})

const HOUR = 3_600_000

/** Creates two sets of counters that share the same rows, as in two processes, and counts the statements that they run. */
async function twoProcesses(t: TestContext) {
  const { pool } = await openDatabase(t, 'postgres')
  const counters = [1, 2].map(() => countersInPostgres(HOUR, Date.now, pool!))
  let statements = 0
  const query = pool!.query.bind(pool)
  // Each statement acquires a connection of the pool.
  pool!.on('acquire', () => {
    statements += 1
  })
  return { counters, statements: () => statements, query: (sql: string) => query(sql) }
}

test('processes that share counters return each count exactly once, with few statements', async (t) => {
  const { counters, statements } = await twoProcesses(t)
  const counted = await Promise.all(
    Array.from({ length: 100 }, (_, n) => counters[n % 2]!.add('ada', 1)),
  )
  assert.deepEqual(
    counted.map(({ times }) => times).sort((a, b) => a - b),
    Array.from({ length: 100 }, (_, n) => n + 1),
  )
  assert.ok(statements() <= 6, `${statements()} statements`)
  assert.ok(counted.every(({ endsAt }) => endsAt > Date.now() + HOUR - 60_000))
})

test('a negative addition is applied in order, and each key has its own count', async (t) => {
  const { counters } = await twoProcesses(t)
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

test('a failing statement rejects the pending additions, but not later ones', async (t) => {
  const { counters, query } = await twoProcesses(t)
  const [{ add }] = counters as [ReturnType<typeof countersInPostgres>]
  await query('alter table rate_limits rename to renamed_rate_limits')
  const pending = await Promise.allSettled([add('ada', 1), add('ada', 1)])
  assert.deepEqual(
    pending.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await query('alter table renamed_rate_limits rename to rate_limits')
  assert.equal((await add('ada', 1)).times, 1)
})

test('setting the clock back does not extend a shared window', async (t) => {
  const { pool } = await openDatabase(t, 'postgres')
  let time = Date.now()
  const { add, get } = countersInPostgres(HOUR, () => time, pool!)
  await add('ada', 2)
  time -= 60_000
  assert.equal(
    (await get('ada')).times,
    2,
    'a difference of a minute between the clocks of two machines is tolerated',
  )
  time -= 24 * HOUR
  assert.deepEqual(await get('ada'), { times: 0, endsAt: time + HOUR })
  assert.deepEqual(await add('ada', 1), { times: 1, endsAt: time + HOUR })
})
