import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapConcurrent } from './turns.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('every item is processed once, in order, with limited concurrency', async () => {
  const begun: number[] = []
  let [now, most] = [0, 0]
  const results = await mapConcurrent(Array(20).keys(), { concurrency: 3 }, async (item) => {
    begun.push(item)
    now += 1
    most = Math.max(most, now)
    for (let turns = item % 3; turns >= 0; turns--) await turn()
    now -= 1
    return item * 2
  })
  assert.deepEqual(
    results,
    begun.map((item) => item * 2),
  )
  assert.deepEqual(begun, [...Array(20).keys()])
  assert.equal(most, 3)
})

test('a failure stops the others, waits for them, and closes the iterator', async () => {
  const broken = new Error('broken')
  const ended: string[] = []
  async function* items() {
    try {
      for (let n = 0; ; n += 1) yield n
    } finally {
      ended.push('items')
    }
  }
  const working = mapConcurrent(items(), { concurrency: 2 }, async (item, signal) => {
    if (item === 0) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await turn()
      ended.push('other')
    } else if (item === 3) throw broken
  })
  await assert.rejects(working, broken)
  assert.deepEqual(ended.sort(), ['items', 'other'])
})

test('an abort rejects with the reason of the signal', async () => {
  const stop = new AbortController()
  const cancelled = new Error('cancelled')
  const begun: number[] = []
  const working = mapConcurrent(
    [1, 2, 3],
    { concurrency: 1, signal: stop.signal },
    async (item) => {
      begun.push(item)
      stop.abort(cancelled)
    },
  )
  await assert.rejects(working, cancelled)
  assert.deepEqual(begun, [1])
})
