import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sortedRows } from '../../../../lib/src/sorted-rows.ts'
import { Report } from '../format.ts'
import { milestoneTitles, RepositoryRecords } from '../sort-records.ts'
import { type DumpContext, dumpTriage } from './dump-context.ts'
import { dumpIssues } from './dump-issues-and-pulls.ts'

const label = { name: 'bug', color: 'ededed', description: '' }

test('a duplicate label of an issue is removed', () => {
  const context = {
    labels: new Map([['bug', label]]),
    milestones: new Map(),
    report: new Report(() => {}),
  } as unknown as DumpContext
  const triage = dumpTriage(context, {
    number: 1,
    labels: ['bug', 'bug'],
    milestone: null,
    assignees: [],
  })
  assert.deepEqual(triage.labels, [label])
})

test('milestones with the same title get unique titles', () => {
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

test('duplicate numbers and reviews without a pull request are skipped and counted', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-dump-'))
  const rows = sortedRows(join(directory, 'rows'))
  t.after(async () => {
    rows[Symbol.dispose]()
    await rm(directory, { recursive: true })
  })
  const report = new Report(() => {})
  const at = '2024-01-01T00:00:00Z'
  const context = {
    ...{ directory, signal: t.signal, labels: new Map(), milestones: new Map() },
    records: new RepositoryRecords({ rows, report }, 'a/b'),
    identity: () => ({ id: -1000, name: 'ghost' }),
    text: (body: string) => body,
  } as unknown as DumpContext
  const empty = { labels: [], assignees: [], reactions: [], milestone: null, author: null }
  const issue = { ...empty, title: 'one', body: '', createdAt: at, updatedAt: at, closedAt: null }
  for (const number of [1, 1, 2, 3]) rows.add('issues a/b', number, 0, { ...issue, number })
  rows.add('pull_requests a/b', 2, 0, {})
  rows.add('pull_request_reviews a/b', 2, 0, { id: 7, pull: 2 })
  rows.add('pull_request_reviews a/b', 3, 0, { id: 8, pull: 3 })
  rows.add('pull_request_review_comments a/b', 4, 0, { id: 9, pull: 4 })
  dumpIssues(context)
  context.records.loseReviewsWithoutPull()
  const issues = JSON.parse(await readFile(join(directory, 'issue.yml'), 'utf8'))
  assert.deepEqual(
    issues.map(({ number }: { number: number }) => number),
    [1, 3],
  )
  assert.deepEqual(
    report.end().map(({ kind, count }) => [kind, count]),
    [
      ['issues', 2],
      ['pull_request_review_comments', 1],
      ['pull_request_reviews', 1],
    ],
  )
})
