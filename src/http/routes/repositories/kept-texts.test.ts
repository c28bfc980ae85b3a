import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeptText, keepTexts } from './kept-texts.ts'

const LENGTH = 10
const textOf = (key: number): KeptText => ({
  bytes: Buffer.from(String(key).padStart(LENGTH)),
  holes: [],
})

test('what is asked for again stays, and all of it together takes no more than its room', () => {
  const kept = keepTexts(20 * LENGTH)
  for (let key = 0; key < 1000; key++) {
    kept.keep(key, textOf(key))
    assert.deepEqual(kept.get(0), textOf(0), `after ${key}`)
  }
  assert.deepEqual(kept.get(999), textOf(999))
  const held = Array.from({ length: 1000 }, (_, key) => kept.get(key)).filter(Boolean)
  assert.ok(held.length >= 10 && held.length <= 20, `${held.length} are held`)
})

test('what is larger than half the room is not kept', () => {
  const kept = keepTexts(LENGTH)
  kept.keep(1, textOf(1))
  assert.equal(kept.get(1), undefined)
})

test('what has been asked about once is known at the next time, unless very many came between', () => {
  const kept = keepTexts(LENGTH)
  assert.deepEqual([1, 2, 1, 2, 2].map(kept.isAskedAgain), [false, false, true, true, true])
  for (let key = 10; key < 100_000; key++) kept.isAskedAgain(key)
  assert.equal(kept.isAskedAgain(1), false)
})
