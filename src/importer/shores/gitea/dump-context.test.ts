import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DumpContext, dumpTriage, milestoneTitles } from './dump-context.ts'

const label = { name: 'bug', color: 'ededed', description: '' }

test('an issue that has a label twice has it once in a dump', () => {
  const context = {
    labels: new Map([['bug', label]]),
    milestones: new Map(),
    tally: { skip() {} },
  } as unknown as DumpContext
  const triage = dumpTriage(context, { labels: ['bug', 'bug'], milestone: null, assignees: [] })
  assert.deepEqual(triage.labels, [label])
})

test('milestones of one title are told apart', () => {
  const milestones = ['1.0', '1.0', '1.0 (2)', '1.0'].map((title, n) => ({ number: n + 1, title }))
  assert.deepEqual(
    [...milestoneTitles(milestones)],
    [
      [1, '1.0'],
      [2, '1.0 (3)'],
      [3, '1.0 (2)'],
      [4, '1.0 (4)'],
    ],
  )
})
