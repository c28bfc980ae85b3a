import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/archive-samples.ts'
import { sortedRows } from './sorted-rows.ts'

async function rows(t: TestContext) {
  const made = sortedRows(join(await temporaryFolder(t), 'rows'))
  t.after(() => made[Symbol.dispose]())
  return made
}

test('rows are sorted by key and time', async (t) => {
  const kept = await rows(t)
  kept.add('b', 1, 0, 'another shelf')
  kept.add('a', 10, 5, 'ten, later')
  kept.add('a', 9, 1, 'nine')
  kept.add('a', 10, 2, 'ten, sooner')
  kept.add('a', 10, 2, 'ten, as soon')
  assert.deepEqual(
    [...kept.all('a')],
    [
      [9, 'nine'],
      [10, 'ten, sooner'],
      [10, 'ten, as soon'],
      [10, 'ten, later'],
    ],
  )
  assert.deepEqual(kept.of('a', 10), ['ten, sooner', 'ten, as soon', 'ten, later'])
  assert.equal(kept.newest('a', 10), 5)
  assert.equal(kept.count('a'), 4)
})

test('an unused shelf or key is empty', async (t) => {
  const kept = await rows(t)
  kept.add('a', 1, 0, { text: 'é\u2028' })
  assert.deepEqual(kept.of('a', 1), [{ text: 'é\u2028' }])
  assert.deepEqual([kept.has('a', 1), kept.has('a', 2), kept.has('b', 1)], [true, false, false])
  assert.deepEqual([...kept.all('c')], [])
  assert.equal(kept.count('c'), 0)
})
