import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitAtMost } from './timers.ts'

const A_DAY = 86_400_000

test('work that ends in time is awaited, even if it fails', async () => {
  let isDone = false
  const work = new Promise((resolve) => setImmediate(resolve)).then(() => {
    isDone = true
  })
  await waitAtMost(A_DAY, work)
  assert.ok(isDone)
  await waitAtMost(A_DAY, Promise.reject(new Error('broken')))
})

test('work that takes too long is not awaited, and may fail later', async () => {
  const { promise, reject } = Promise.withResolvers<void>()
  await waitAtMost(1, promise)
  reject(new Error('broken'))
})
