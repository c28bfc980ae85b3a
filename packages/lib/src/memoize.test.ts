import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoize } from './memoize.ts'

test('a result is cached until the cache is full', () => {
  const computed: string[] = []
  const lower = memoize(2, (text: string) => {
    computed.push(text)
    return text.toLowerCase()
  })
  assert.deepEqual(['A', 'B', 'A', 'B'].map(lower), ['a', 'b', 'a', 'b'])
  assert.deepEqual(computed, ['A', 'B'])
  assert.deepEqual(['C', 'C', 'A'].map(lower), ['c', 'c', 'a'])
  assert.deepEqual(computed, ['A', 'B', 'C', 'A'])
})

test('a key function decides which inputs are equal', () => {
  const rounded = memoize(10, (n: number) => ({ n }), Math.floor)
  assert.equal(rounded(1.2), rounded(1.7))
  assert.notEqual(rounded(1.2), rounded(2.2))
})
