import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DiffPosition } from '../../records/pull-request.ts'
import { reviewPosition } from './dump-reviews.ts'

const HUNK = '@@ -19,3 +21,5 @@ words\n one\n-two\n+three\n+four'

const diffPosition = (change: Partial<DiffPosition> = {}): DiffPosition => ({
  diffHunk: HUNK,
  path: 'LICENSE',
  position: 4,
  originalPosition: 4,
  commit: 'b'.repeat(40),
  originalCommit: 'a'.repeat(40),
  ...change,
})

test('without a thread, a comment is on the last line of the hunk', () => {
  assert.deepEqual(reviewPosition(diffPosition(), undefined), {
    ...{ line: 23, position: 3, diffHunk: HUNK },
    commit: 'b'.repeat(40),
  })
  const removed = '@@ -19,3 +21,5 @@\n one\n-two'
  assert.deepEqual(reviewPosition(diffPosition({ diffHunk: removed }), undefined), {
    // Servers before 1.16 compute first line + position - 1: 21 - 40 - 1 is -20, which means line 20 of the old file.
    ...{ line: -20, position: -40, diffHunk: removed },
    commit: 'b'.repeat(40),
  })
})

test('a thread determines line and side', () => {
  const left = { line: 7, originalLine: 7, side: 'left' as const }
  assert.equal(reviewPosition(diffPosition(), left).line, -7)
  assert.equal(reviewPosition(diffPosition(), { ...left, side: 'right' }).line, 7)
})

test('an outdated comment is shown at its original line and commit', () => {
  const thread = { line: null, originalLine: 9, side: 'right' as const }
  const { line, commit } = reviewPosition(diffPosition({ position: null }), thread)
  assert.deepEqual([line, commit], [9, 'a'.repeat(40)])
})

test('an invalid hunk is replaced by a valid one', () => {
  const thread = { line: 5, originalLine: 5, side: 'right' as const }
  const { diffHunk, position } = reviewPosition(
    diffPosition({ diffHunk: 'Binary files differ' }),
    thread,
  )
  assert.deepEqual([diffHunk, position], ['@@ -5,1 +5,1 @@', 1])
  assert.equal(reviewPosition(diffPosition({ diffHunk: '' }), undefined).line, 1)
})
