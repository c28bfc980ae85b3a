import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchesOf } from './chunks.ts'

test('batches have all items in order, and the last may be smaller', () => {
  assert.deepEqual([...batchesOf([1, 2, 3, 4, 5], 2)], [[1, 2], [3, 4], [5]])
  assert.deepEqual([...batchesOf(new Set([1, 2]), 2)], [[1, 2]])
})

test('no items give no batch', () => {
  assert.deepEqual([...batchesOf([], 3)], [])
})
