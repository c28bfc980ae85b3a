import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/archive-samples.ts'
import { sortedRows } from './sorted-rows.ts'

async function rows(t: TestContext) {
  const made = sortedRows(join(await temporaryFolder(t), 'rows'))
  t.after(() => made[Symbol.dispose]())
  return made
}

test('rows are sorted by key and time', async (t) => {
  const sorted = await rows(t)
  sorted.add('b', 1, 0, 'another table')
  sorted.add('a', 10, 5, 'ten, later')
  sorted.add('a', 9, 1, 'nine')
  sorted.add('a', 10, 2, 'ten, sooner')
  sorted.add('a', 10, 2, 'ten, as soon')
  assert.deepEqual(
    [...sorted.all('a')],
    [
      [9, 'nine'],
      [10, 'ten, sooner'],
      [10, 'ten, as soon'],
      [10, 'ten, later'],
    ],
  )
  assert.deepEqual(sorted.of('a', 10), ['ten, sooner', 'ten, as soon', 'ten, later'])
  assert.equal(sorted.newest('a', 10), 5)
  assert.equal(sorted.count('a'), 4)
})

test('an unused table or key is empty', async (t) => {
  const sorted = await rows(t)
  sorted.add('a', 1, 0, { text: 'é\u2028' })
  assert.deepEqual(sorted.of('a', 1), [{ text: 'é\u2028' }])
  assert.deepEqual(
    [sorted.has('a', 1), sorted.has('a', 2), sorted.has('b', 1)],
    [true, false, false],
  )
  assert.deepEqual([...sorted.all('c')], [])
  assert.equal(sorted.count('c'), 0)
})
