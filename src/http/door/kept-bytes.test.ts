import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepBytes } from './kept-bytes.ts'

const LENGTH = 10

test('what is asked for again stays, and all of it together takes no more than its room', () => {
  const kept = keepBytes(20 * LENGTH)
  for (let key = 0; key < 1000; key++) {
    kept.keep(key, Buffer.alloc(LENGTH, key))
    assert.ok(kept.get(0), `after ${key}`)
  }
  assert.deepEqual(kept.get(999), Buffer.alloc(LENGTH, 999))
  const held = Array.from({ length: 1000 }, (_, key) => kept.get(key)).filter(Boolean)
  assert.ok(held.length >= 10 && held.length <= 20, `${held.length} are held`)
})

test('what is larger than half the room is not kept', () => {
  const kept = keepBytes(10)
  kept.keep(1, Buffer.alloc(6))
  assert.equal(kept.get(1), undefined)
})
