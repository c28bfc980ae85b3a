import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '../../http/json-fields.ts'
import { eventRecords } from './issue-records.ts'

const ANN = { id: 1, login: 'ann', avatar_url: '' }
const BOB = { id: 2, login: 'bob', avatar_url: '' }
const AT = '2024-05-01T12:00:00Z'
const SHA = 'a'.repeat(40)

function eventsOf(entries: Json[], { issue = {}, pull }: { issue?: Json; pull?: Json } = {}) {
  const skipped: string[] = []
  const plain = { id: 7, number: 3, state: 'open', updated_at: AT, is_locked: false }
  const rows = entries.map((entry, n) => ({
    id: 10 + n,
    user: ANN,
    created_at: AT,
    body: '',
    ...entry,
  }))
  const found = eventRecords(
    {
      repository: 'octo/widgets',
      issue: { ...plain, ...(pull ? { pull_request: {} } : {}), ...issue },
      pull,
      onSkipped: (what) => skipped.push(what),
    },
    rows,
  )
  const details = found.map(({ repository, id, on, actor, createdAt, ...rest }) => {
    assert.equal(repository, 'octo/widgets')
    assert.equal(on.number, 3)
    assert.ok(id > 0 && createdAt && actor)
    return rest
  })
  return { details, skipped, found }
}

describe('events of a timeline', () => {
  it('are converted to the events of archives', () => {
    const label = { name: 'bug', color: '#00aabb' }
    const { details } = eventsOf([
      { type: 'label', body: '1', label },
      { type: 'label', body: '', label },
      { type: 'milestone', old_milestone: { title: 'v1' }, milestone: { title: 'v2' } },
      { type: 'assignees', assignee: BOB, removed_assignee: false },
      { type: 'assignees', assignee: BOB, removed_assignee: true },
      { type: 'change_title', old_title: 'a', new_title: 'b' },
      { type: 'commit_ref', ref_commit_sha: SHA },
      { type: 'lock' },
      { type: 'unlock' },
      { type: 'close' },
      { type: 'reopen' },
      { type: 'pin' },
    ])
    const as = { name: 'bug', color: '00aabb', textColor: '000000' }
    assert.deepEqual(details, [
      { event: 'labeled', label: { ...as, textColor: 'ffffff' } },
      { event: 'unlabeled', label: { ...as, textColor: 'ffffff' } },
      { event: 'demilestoned', milestoneTitle: 'v1' },
      { event: 'milestoned', milestoneTitle: 'v2' },
      { event: 'assigned', subject: { kind: 'user', login: 'bob' } },
      { event: 'unassigned', subject: { kind: 'user', login: 'bob' } },
      { event: 'renamed', renamed: { from: 'a', to: 'b' } },
      { event: 'referenced', commit: SHA, commitRepository: 'octo/widgets' },
      { event: 'locked' },
      { event: 'unlocked' },
      { event: 'closed', commit: null },
      { event: 'reopened' },
      { event: 'pinned' },
    ])
  })

  it('are counted as lost for the message of a dismissed review', () => {
    const dismissal = { type: 'dismiss_review', review_id: 4 }
    assert.deepEqual(eventsOf([dismissal]).skipped, [])
    const { details, skipped } = eventsOf([{ ...dismissal, body: 'outdated' }])
    assert.deepEqual([details, skipped], [[], ['messages of dismissals']])
  })

  it('of a pull request: a merge is two events, a forced push one, an ordinary push none', () => {
    const pull = {
      merged: true,
      merged_at: AT,
      merged_by: BOB,
      merge_commit_sha: SHA,
      head: { ref: 'work' },
    }
    const push = (is_force_push: boolean) =>
      JSON.stringify({ is_force_push, commit_ids: [SHA, 'b'.repeat(40)] })
    const { details, found } = eventsOf(
      [
        { type: 'pull_push', body: push(false) },
        { type: 'pull_push', body: push(true) },
        { type: 'review_request', assignee_team: { name: 'Core Team' } },
        { type: 'review_request', assignee: BOB, removed_assignee: true },
        { type: 'change_target_branch', old_ref: 'main', new_ref: 'next' },
        { type: 'delete_branch' },
        { type: 'merge_pull' },
      ],
      { pull, issue: { state: 'closed', closed_at: AT } },
    )
    assert.deepEqual(details, [
      {
        event: 'head_ref_force_pushed',
        forcePush: { ref: 'work', before: SHA, after: 'b'.repeat(40) },
        commitRepository: 'octo/widgets',
      },
      {
        event: 'review_requested',
        subject: { kind: 'team', organization: 'octo', slug: 'core-team' },
      },
      { event: 'review_request_removed', subject: { kind: 'user', login: 'bob' } },
      { event: 'base_ref_changed', renamed: { from: 'main', to: 'next' } },
      { event: 'head_ref_deleted' },
      { event: 'merged', commit: SHA, commitRepository: 'octo/widgets' },
      { event: 'closed', commit: null },
    ])
    assert.equal(new Set(found.map(({ id }) => id)).size, found.length)
  })

  it('are added if the timeline does not explain the state of the issue', () => {
    const pull = { merged: true, merged_at: AT, merged_by: BOB, merge_commit_sha: SHA }
    const { found } = eventsOf([], {
      pull,
      issue: { state: 'closed', closed_at: AT, is_locked: true },
    })
    assert.deepEqual(
      found.map(({ event, actor }) => `${event} ${actor}`),
      ['merged bob', 'closed bob', 'locked ghost'],
    )
    const again = eventsOf([{ type: 'close' }, { type: 'reopen' }], {
      issue: { state: 'closed', closed_at: AT },
    })
    assert.deepEqual(
      again.details.map(({ event }) => event),
      ['closed', 'reopened', 'closed'],
    )
    const reopened = eventsOf([], { issue: { state: 'open', closed_at: AT } })
    assert.deepEqual(reopened.details, [])
  })

  it('that archives cannot represent, or whose subject was deleted, are reported', () => {
    const { details, skipped } = eventsOf([
      { type: 'comment' },
      { type: 'issue_ref' },
      { type: 'added_deadline' },
      { type: 'label', body: '1', label: null },
      { type: 'milestone' },
    ])
    assert.deepEqual(details, [])
    assert.deepEqual(skipped, [
      'timeline entries of kind added_deadline',
      'events of deleted labels',
      'events of deleted milestones',
    ])
  })
})
