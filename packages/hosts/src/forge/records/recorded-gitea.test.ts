import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type FakeForge, startForge } from '../../../../../test/support/forge/fake-forge.ts'
import { MemoryDiscussionStore } from '../../../../../test/support/forge/memory-discussion-store.ts'
import {
  loadRecordings,
  RECORDED_GITEA,
  recordedResponse,
} from '../../../../../test/support/forge/recorded-gitea.ts'
import { readStateOf } from '../../discussions.ts'
import { forgeDiscussions } from '../discussions/forge-discussions.ts'

const REPOSITORY = { owner: 'gitea', name: 'test_repo' }

describe('responses of gitea.com', RECORDED_GITEA.needed, () => {
  let forge: FakeForge
  const store = new MemoryDiscussionStore()
  before(async () => {
    forge = await startForge()
    const recordings = loadRecordings()
    forge.faultFor = (request) => ({ response: recordedResponse(recordings, request) })
    await store.readAll(forgeDiscussions({ url: forge.url, token: 'x' }), REPOSITORY)
  })
  after(() => forge.stop())

  it('are read completely', () => {
    assert.equal(readStateOf(store.cursor)?.isComplete, true)
    assert.equal(store.records('issues').length, 7)
    assert.equal(store.records('pull_requests').length, 6)
    assert.equal(store.records('milestones').length, 2)
    assert.equal(store.records('repositories')[0]?.labels.length, 6)
  })

  it('contain an issue of a ghost, closed and locked, with comments and reactions', () => {
    const issue = store.records('issues').find(({ number }) => number === 4)
    assert.equal(issue?.author, 'ghost')
    assert.equal(issue?.closedAt, '2020-09-01T15:49:34Z')
    assert.deepEqual(
      issue?.reactions.map(({ content }) => content),
      ['gitea', 'laugh'],
    )
    assert.deepEqual(issue?.labels, ['Question'])
    assert.equal(issue?.milestone, 1300)
    const comments = store.records('issue_comments').filter(({ on }) => on.number === 4)
    assert.deepEqual(
      comments.map(({ id, author }) => [id, author]),
      [
        [116550, '6543'],
        [116552, 'ghost'],
      ],
    )
    const events = store.records('issue_events').filter(({ on }) => on.number === 4)
    assert.deepEqual(
      events.map(({ event }) => event),
      ['closed', 'locked'],
    )
  })

  it('contain pull requests: merged, and from a deleted branch', () => {
    const pull = (number: number) =>
      store.records('pull_requests').find((each) => each.number === number)
    assert.equal(pull(12)?.mergedAt, '2020-09-01T17:55:34Z')
    assert.equal(pull(12)?.mergeCommit?.length, 40)
    assert.equal(pull(8)?.mergedAt, null)
    assert.ok(pull(8)?.closedAt)
    assert.equal(pull(8)?.head.ref, 'garbage-patch')
    const events = store.records('issue_events').filter(({ on }) => on.number === 12)
    assert.deepEqual(
      events.map(({ event }) => event),
      ['merged', 'closed'],
    )
  })

  it('contain reviews with a thread', () => {
    const reviews = store.records('pull_request_reviews').filter(({ pull }) => pull === 7)
    assert.deepEqual(
      reviews.map(({ id, state }) => [id, state]),
      [
        [1770, 'dismissed'],
        [1771, 'dismissed'],
        [1772, 'dismissed'],
      ],
    )
    const [thread] = store.records('pull_request_review_threads')
    assert.deepEqual(
      [thread?.path, thread?.line, thread?.side, thread?.position],
      ['README.md', 4, 'right', 4],
    )
  })

  it('contain releases, and a record of every person', () => {
    assert.deepEqual(
      store.records('releases').map(({ tag }) => tag),
      ['v2-rc1', 'V1'],
    )
    const logins = new Set(store.records('users').map(({ login }) => login))
    for (const login of ['6543', 'ghost', 'techknowlogick']) assert.ok(logins.has(login), login)
  })
})
