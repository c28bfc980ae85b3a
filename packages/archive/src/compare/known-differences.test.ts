import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { type KnownContext, knownDifference, RULES } from './known-differences.ts'

test('the guide lists exactly the differences that are known', async () => {
  const guide = await readFile(new URL('../../../../docs/MOVING.md', import.meta.url), 'utf8')
  const [, table = ''] =
    /<!-- known differences -->\n([\s\S]*?)<!-- \/known differences -->/.exec(guide) ?? []
  const [, ...listed] = table
    .split('\n')
    .flatMap((line) => /^\| .* \| (.*) \|$/.exec(line)?.[1] ?? [])
  assert.deepEqual(listed, [...new Set(RULES.map(({ reason }) => reason))])
})

test('a review that an export for GitLab lacks is expected only if a comment has its text', () => {
  const none: ReadonlySet<string> = new Set()
  const key = '#4 2024-05-01T12:00:00Z'
  const isExpected = (body: string, state: string, written: string[]): boolean => {
    const context: KnownContext = {
      ...{ target: 'gitlab', isFinished: false, version: [0, 0], hasIssue: () => true },
      ...{ mapped: none, linked: none, linkedByEmail: none, lineComments: none },
      ...{ reviewHeadings: none, pullHeads: none, closings: none },
      losses: { missing: none, extra: none },
      files: { left: none, right: none },
      written: { left: new Map(), right: new Map([[key, written]]) },
      isSameText: (left, right) => left === right,
    }
    const left = { key, name: key, fields: { body, state } }
    const pair = { kind: 'pull_request_reviews' as const, left, right: undefined, context }
    return knownDifference('missing', pair) !== undefined
  }
  assert.deepEqual(
    [
      isExpected('All of it', 'commented', ['Other', 'All of it']),
      isExpected('All of it', 'commented', ['All']),
      isExpected('All of it', 'commented', []),
      isExpected('', 'commented', []),
      isExpected('', 'approved', []),
      isExpected('All of it', 'approved', ['All of it']),
    ],
    [true, false, false, true, false, false],
  )
})
