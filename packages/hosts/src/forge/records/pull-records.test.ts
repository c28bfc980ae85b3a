import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../http/json-fields.ts'
import { dependencyRecords, issueRecord } from './issue-records.ts'
import { pullRecord, reviewRecord } from './pull-records.ts'

const [TODAY, BEGAN] = ['a'.repeat(40), 'b'.repeat(40)]
const AT = '2024-05-01T12:00:00Z'

function baseOf(pull: Json): string {
  const issue = { number: 3, state: pull.state, created_at: AT, updated_at: AT, pull_request: {} }
  const responses = { repository: 'octo/widgets', issue, pull, reviews: [] }
  return pullRecord(responses, []).base.sha
}

test('the base of a closed pull request is where it began, not what the branch is today', () => {
  const base = { ref: 'main', sha: TODAY }
  const merged = { state: 'closed', merged: true, merged_at: AT, merge_base: BEGAN }
  assert.deepEqual(
    {
      open: baseOf({ state: 'open', merge_base: BEGAN, base }),
      merged: baseOf({ ...merged, base }),
      closed: baseOf({ ...merged, merged: false, base }),
      'merged, and the branch was deleted': baseOf({ ...merged, base: { ...base, sha: '' } }),
      'merged, without a merge base': baseOf({ ...merged, merge_base: '', base }),
    },
    {
      open: TODAY,
      merged: BEGAN,
      closed: BEGAN,
      'merged, and the branch was deleted': BEGAN,
      'merged, without a merge base': TODAY,
    },
  )
})

test('records have what only Gitea and Forgejo know, and nothing for its absence', () => {
  const issue = { number: 3, state: 'open', created_at: AT, updated_at: AT }
  const plain = issueRecord('octo/widgets', { ...issue, due_date: null, pin_order: 0 }, [])
  assert.deepEqual(
    ['dueOn', 'pinOrder'].map((field) => field in plain),
    [false, false],
  )
  const due = { due_date: '2024-06-30T23:59:59+02:00', pin_order: 2 }
  const { dueOn, pinOrder } = issueRecord('octo/widgets', { ...issue, ...due }, [])
  assert.deepEqual([dueOn, pinOrder], ['2024-06-30T21:59:59Z', 2])
  const other = { repository: { full_name: 'octo/other' }, number: 8, pull_request: {} }
  // The forge shows an issue that the token may not see without its repository.
  assert.deepEqual(dependencyRecords([other, { title: 'HIDDEN', repository: null }]), [
    { repository: 'octo/other', kind: 'pull_request', number: 8 },
  ])
  const responses = { repository: 'octo/widgets', issue, pull: {}, reviews: [] }
  const official = (review: Json) =>
    reviewRecord(responses, { id: 1, submitted_at: AT, ...review }, 'approved').official
  assert.deepEqual([official({ official: true }), official({})], [true, undefined])
})
