import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  commit,
  git,
  initBare,
  temporaryDirectory,
} from '../../../../test/support/sample-repositories.ts'
import { createGit } from '../../../git/src/git.ts'
import type { DumpContext } from './gitea-dump/dump-context.ts'
import { mergeBase } from './gitea-dump/write-patch.ts'
import { planHeads } from './pull-heads.ts'

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string]
const OPEN = { closedAt: null, mergedAt: null, repository: 'alice/site' }
const CLOSED = { ...OPEN, closedAt: '2024-01-01T00:00:00Z' }

const refs = new Map([
  ['refs/heads/main', A],
  ['refs/heads/own', B],
  ['refs/heads/bob/fix', A],
  ['refs/pull/2/head', B],
])
const head = (ref: string, sha: string, repository: string | null, owner = 'bob') => ({
  ...{ ref, sha, repository, owner },
})

function plan(...pulls: Parameters<typeof planHeads>[0] extends Iterable<infer T> ? T[] : never) {
  const { heads, create, moved } = planHeads(pulls, refs, new Set([A, B]))
  return {
    heads: [...heads.values()].map(({ sha, branch }) => [sha[0], branch]),
    create: Object.fromEntries(create),
    moved: moved.map(({ number }) => number),
  }
}

test('a branch of the repository stays, and the head gets a ref', () => {
  assert.deepEqual(plan({ number: 1, head: head('own', B, 'Alice/site'), ...OPEN }), {
    heads: [['b', 'own']],
    create: { 'refs/pull/1/head': B },
    moved: [],
  })
})

test('a pull request of a deleted fork gets a branch only if it is open', () => {
  const gone = { number: 2, head: head('fix', B, null, 'carol') }
  assert.deepEqual(plan({ ...gone, ...OPEN }), {
    heads: [['b', 'carol/fix']],
    create: { 'refs/heads/carol/fix': B },
    moved: [],
  })
  const closed = plan({ ...gone, ...CLOSED })
  assert.deepEqual([closed.heads, closed.create], [[['b', 'carol/fix']], {}])
})

test('a branch name that is taken or invalid is replaced by the number', () => {
  const fork = (ref: string) => head(ref, B, 'bob/site')
  const { heads } = plan(
    { number: 3, head: fork('fix'), ...OPEN },
    { number: 4, head: fork('fix/more'), ...OPEN },
    { number: 5, head: fork('a..b'), ...OPEN },
    { number: 6, head: head('site', B, 'bob/site', 'bob/fix/..'), ...OPEN },
    { number: 7, head: head('x', B, null, 'main'), ...OPEN },
  )
  const names = heads.map(([, branch]) => branch)
  assert.deepEqual(names, ['pull-3', 'pull-4', 'pull-5', 'pull-6', 'pull-7'])
})

test('the ref is used if the commit of the record is missing', () => {
  const { heads, create } = plan(
    { number: 2, head: head('fix', C, null), ...CLOSED },
    { number: 8, head: head('fix', C, null), ...OPEN },
  )
  assert.deepEqual(heads, [
    ['b', 'pull-2'],
    [undefined, 'pull-8'],
  ])
  assert.deepEqual(create, {})
})

test('an existing ref wins over the record, and the difference is reported', () => {
  assert.deepEqual(plan({ number: 2, head: head('fix', A, null, 'carol'), ...OPEN }), {
    heads: [['b', 'carol/fix']],
    create: { 'refs/heads/carol/fix': B },
    moved: [2],
  })
})

test('a deleted branch is created again, if its name is valid', () => {
  const gone = plan({ number: 9, head: head('gone', B, 'alice/site'), ...OPEN })
  assert.deepEqual(gone.create, { 'refs/pull/9/head': B, 'refs/heads/gone': B })
  const evil = plan({
    number: 9,
    head: head('x\ndelete refs/heads/main', B, 'alice/site'),
    ...OPEN,
  })
  assert.deepEqual(evil.create, { 'refs/pull/9/head': B, 'refs/heads/pull-9': B })
})

test('a merged pull request begins where its branch did, whatever its base is today', async (t) => {
  const directory = temporaryDirectory(t)
  const dir = join(directory, 'git')
  initBare(dir)
  const context = {
    ...{ directory, signal: t.signal },
    git: createGit({ program: 'git', searchPath: process.env.PATH!, home: directory }),
  } as DumpContext
  const began = commit(dir, 'refs/heads/main', 'one')
  git(dir, ['update-ref', 'refs/heads/work', began])
  commit(dir, 'refs/heads/work', 'first')
  const sha = commit(dir, 'refs/heads/work', 'second')
  const before = commit(dir, 'refs/heads/main', 'meanwhile')
  const commitTree = (parents: string[]) =>
    git(dir, [
      'commit-tree',
      `${sha}^{tree}`,
      ...parents.flatMap((each) => ['-p', each]),
      '-m',
      'm',
    ])
  const merge = commitTree([before, sha])
  const squash = commitTree([before])
  const rebase = commitTree([commitTree([before])])
  const baseOf = (mergeCommit: string, base: string) =>
    mergeBase(
      context,
      new Map([['refs/heads/main', merge]]),
      { base: { ref: 'main', sha: base }, mergedAt: '2024-01-01T00:00:00Z' },
      { head: { number: 1, sha, branch: 'work' }, merged: mergeCommit },
    )
  const bases = {
    'the forge knows the merge base': await baseOf(merge, began),
    'merged, the base is that of today': await baseOf(merge, merge),
    'squashed, the branch was deleted': await baseOf(squash, '0'.repeat(40)),
    'rebased, the base is that of today': await baseOf(rebase, merge),
    'a fast-forward': await baseOf(sha, before),
    'a fast-forward, the base is that of today': await baseOf(sha, sha),
    'the merge commit is unknown': await baseOf('', merge),
  }
  assert.deepEqual(bases, {
    'the forge knows the merge base': began,
    'merged, the base is that of today': began,
    'squashed, the branch was deleted': began,
    'rebased, the base is that of today': began,
    'a fast-forward': began,
    // Nothing tells how many of the commits belonged to it.
    'a fast-forward, the base is that of today': '',
    'the merge commit is unknown': '',
  })
})
