import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOfHunk } from './diff-hunk.ts'

test('the end of a hunk is the side and line number of its last line', () => {
  const hunk = '@@ -1,2 +1,4 @@ context\n # title\n text\n+new'
  assert.deepEqual(endOfHunk(hunk), { side: 'right', line: 3 })
  assert.deepEqual(endOfHunk('@@ -19 +21 @@\n-old'), { side: 'left', line: 19 })
  const replaced = '@@ -5,2 +7,2 @@\n same\n-old\n\\ No newline at end of file\n+new'
  assert.deepEqual(endOfHunk(replaced), { side: 'right', line: 8 })
})

test('text that is not a hunk has no end', () => {
  for (const text of ['', 'text', '@@ -1 +1 @@', '@@ -0,0 +1 @@\n\\ No newline at end of file'])
    assert.equal(endOfHunk(text), undefined)
})
