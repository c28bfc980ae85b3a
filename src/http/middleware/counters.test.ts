import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countersInMemory } from './counters.ts'

test('who adds at the same time is told their own count', async () => {
  const counters = countersInMemory(1000, () => 0)
  const counts = await Promise.all([1, 1, 1].map((by) => counters.add('one', by)))
  assert.deepEqual(
    counts.map(({ times }) => times),
    [1, 2, 3],
  )
})

test('a count begins again when its window has ended', async () => {
  let time = 0
  const counters = countersInMemory(1000, () => time)
  await counters.add('one', 2)
  assert.deepEqual(await counters.look('one'), { times: 2, endsAt: 1000 })
  time = 1000
  assert.deepEqual(await counters.add('one', 1), { times: 1, endsAt: 2000 })
})

test('a clock that is put back makes no window longer', async () => {
  let time = 7_200_000
  const counters = countersInMemory(1000, () => time)
  await counters.add('one', 2)
  time = 0
  assert.deepEqual(await counters.look('one'), { times: 0, endsAt: 1000 })
})
