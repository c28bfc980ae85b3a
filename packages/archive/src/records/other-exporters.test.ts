import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecord } from './read-records.ts'

/** Records as other exporters and older versions of GitHub write them. All of them must be read. */
const HOST = 'https://bitbucket.example'
const WHEN = '2024-05-01T12:00:00Z'

const issue = {
  type: 'issue',
  url: `${HOST}/o/r/issues/7`,
  repository: `${HOST}/o/r`,
  user: `${HOST}/ann`,
  title: 'Without updated_at, assignees and reactions',
  body: null,
  assignee: `${HOST}/bob`,
  milestone: null,
  labels: [],
  closed_at: null,
  created_at: WHEN,
}

const pull = {
  type: 'pull_request',
  url: `${HOST}/o/r/pull/8`,
  user: '',
  repository: `${HOST}/o/r`,
  title: 'From a deleted fork',
  body: '',
  base: { ref: 'main', sha: 'a'.repeat(40), user: `${HOST}/ann`, repo: `${HOST}/o/r` },
  head: { ref: 'fix', sha: 'unknown', user: '', repo: '' },
  labels: null,
  merged_at: null,
  closed_at: null,
  created_at: WHEN,
  assignee: null,
  milestone: '',
}

const reviewComment = {
  type: 'pull_request_review_comment',
  url: `${HOST}/o/r/pull/8/files#r5`,
  pull_request: `${HOST}/o/r/pull/8`,
  pull_request_review: `${HOST}/o/r/pull/8/files#pullrequestreview-5`,
  pull_request_review_thread: '',
  user: null,
  body: 'with an unknown subject type',
  path: 'README.md',
  position: 2,
  created_at: WHEN,
  updated_at: WHEN,
  subject_type: 'picture',
}

test('issues with fewer fields from other exporters are read', () => {
  const { assignees, updatedAt, reactions, author } = readRecord('issues', issue)
  assert.deepEqual(
    { assignees, updatedAt, reactions, author },
    { assignees: ['bob'], updatedAt: WHEN, reactions: [], author: 'ann' },
  )
})

test('an empty link is read as null', () => {
  const { author, head, milestone, labels } = readRecord('pull_requests', pull)
  assert.deepEqual(
    { author, head, milestone, labels },
    {
      author: null,
      head: { ref: 'fix', sha: '', owner: null, repository: null },
      milestone: null,
      labels: [],
    },
  )
  const { thread, subjectType } = readRecord('pull_request_review_comments', reviewComment)
  assert.deepEqual({ thread, subjectType }, { thread: null, subjectType: undefined })
})

const repository = {
  type: 'repository',
  url: `${HOST}/o/r`,
  owner: `${HOST}/o`,
  name: 'r',
  description: '',
  private: true,
  labels: [{ type: 'label', url: `${HOST}/o/r/labels/bug`, name: 'bug', color: 'd73a4a' }],
  collaborators: null,
  created_at: WHEN,
  git_url: 'tarball://root/repositories/o/r.git',
  default_branch: 'main',
  wiki_url: '',
  slug: 'r',
}

const organization = {
  type: 'organization',
  url: `${HOST}/o`,
  login: 'o',
  name: 'O',
  description: '',
  website: null,
  location: null,
  email: null,
  members: [{ user: `${HOST}/ann`, role: 'admin', state: 'active' }],
}

test('an owner without a creation time and a repository without a wiki are read', () => {
  const { wiki, collaborators, labels } = readRecord('repositories', repository)
  assert.deepEqual({ wiki, collaborators }, { wiki: null, collaborators: [] })
  assert.deepEqual(
    labels.map(({ name }) => name),
    ['bug'],
  )
  assert.equal(readRecord('organizations', organization).createdAt, '1970-01-01T00:00:00Z')
})

const attachment = {
  type: 'attachment',
  url: 'https://user-images.example/1595118/2923824-63a167ce-d721-11e3-91b6-74b83dc345bb.png',
  issue_comment: 'https://github.com/o/r/issues/115#issuecomment-42628488',
  user: 'https://github.com/ann',
  asset_name: 'shot 2x.png',
  asset_content_type: 'image/png',
  asset_url: 'tarball://root/attachments/63a167ce-d721-11e3-91b6-74b83dc345bb/shot 2x.png',
  created_at: '2014-05-09T02:38:54Z',
}

test('the UUID of an attachment is read from its path in the archive', () => {
  const { uuid, file, on } = readRecord('attachments', attachment)
  assert.deepEqual(
    { uuid, file, on },
    {
      uuid: '63a167ce-d721-11e3-91b6-74b83dc345bb',
      file: 'attachments/63a167ce-d721-11e3-91b6-74b83dc345bb/shot 2x.png',
      on: { kind: 'issue_comment', on: { kind: 'issue', number: 115 }, id: 42628488 },
    },
  )
})

test('numbers that no server stores are refused', () => {
  for (const number of ['0', '2147483648', '9007199254740993', '1'.repeat(23)]) {
    const url = `${HOST}/o/r/issues/${number}`
    assert.throws(() => readRecord('issues', { ...issue, url }), /url is not the URL of an issue/)
  }
})
