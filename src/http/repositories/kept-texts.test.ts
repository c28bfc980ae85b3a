import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepTexts } from './kept-texts.ts'

const LENGTH = 10
const SLAB = 4 * LENGTH
const textOf = (key: number) => String(key).padStart(LENGTH)
const noHoles = () => []

function keepThousand() {
  const kept = keepTexts(20 * LENGTH, SLAB)
  for (let key = 0; key < 1000; key++) {
    assert.equal(String(kept.keep(key, textOf(key), noHoles).bytes), textOf(key))
    assert.equal(String(kept.get(0)?.bytes), textOf(0), `after ${key}`)
  }
  return kept
}

test('what is asked for again stays, and all of it together takes no more than its room', () => {
  const kept = keepThousand()
  assert.equal(String(kept.get(999)?.bytes), textOf(999))
  const held = Array.from({ length: 1000 }, (_, key) => kept.get(key)).filter(Boolean)
  assert.ok(held.length >= 10 && held.length <= 20, `${held.length} are held`)
})

test('what moves on does not hold the memory of those that it stood among', () => {
  const kept = keepTexts(20 * LENGTH, SLAB)
  const first = kept.keep(0, textOf(0), noHoles).bytes.buffer
  for (let key = 1; key < 100; key++) {
    kept.keep(key, textOf(key), noHoles)
    kept.get(0)
  }
  assert.notEqual(kept.get(0)?.bytes.buffer, first)
})

test('text that is no ASCII, or longer than a slab, is kept as it is', () => {
  const kept = keepTexts(1000, SLAB)
  for (const [key, text] of ['é🐦'.repeat(3), 'x'.repeat(SLAB + 1)].entries()) {
    kept.keep(key, text, noHoles)
    assert.equal(String(kept.get(key)?.bytes), text)
  }
})

test('where tokens belong is kept with the text', () => {
  const kept = keepTexts(4 * LENGTH, SLAB)
  const holes = [{ at: 3, repositoryId: 7 }]
  kept.keep(1, textOf(1), (bytes) => (String(bytes) === textOf(1) ? holes : []))
  for (const key of [2, 3]) kept.keep(key, textOf(key), noHoles)
  assert.deepEqual(kept.get(1)?.holes, holes)
})

test('what is larger than half the room is not kept', () => {
  const kept = keepTexts(LENGTH, SLAB)
  kept.keep(1, textOf(1), noHoles)
  assert.equal(kept.get(1), undefined)
})
