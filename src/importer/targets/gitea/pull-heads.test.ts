import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  const { heads, create, moved } = planHeads(pulls, refs, (sha) => sha !== C)
  return {
    heads: [...heads.values()].map(({ sha, branch }) => [sha[0], branch]),
    create: Object.fromEntries(create),
    moved: moved.map(({ number }) => number),
  }
}

test('a branch of its own is left as it is, and the head is named', () => {
  assert.deepEqual(plan({ number: 1, head: head('own', B, 'Alice/site'), ...OPEN }), {
    heads: [['b', 'own']],
    create: { 'refs/pull/1/head': B },
    moved: [],
  })
})

test('what came from a fork that is gone is open with a branch here, and closed with its commits alone', () => {
  const gone = { number: 2, head: head('fix', B, null, 'carol') }
  assert.deepEqual(plan({ ...gone, ...OPEN }), {
    heads: [['b', 'carol/fix']],
    create: { 'refs/heads/carol/fix': B },
    moved: [],
  })
  const closed = plan({ ...gone, ...CLOSED })
  assert.deepEqual([closed.heads, closed.create], [[['b', 'carol/fix']], {}])
})

test('a name that is taken, a folder or no name for a branch gives way to the number', () => {
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

test('commits that are not there are found by the ref, or not at all', () => {
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

test('a ref that is there counts, and what the record says besides is told', () => {
  assert.deepEqual(plan({ number: 2, head: head('fix', A, null, 'carol'), ...OPEN }), {
    heads: [['b', 'carol/fix']],
    create: { 'refs/heads/carol/fix': B },
    moved: [2],
  })
})

test('a branch of its own that is gone comes back, but never by a name that says more to git', () => {
  const gone = plan({ number: 9, head: head('gone', B, 'alice/site'), ...OPEN })
  assert.deepEqual(gone.create, { 'refs/pull/9/head': B, 'refs/heads/gone': B })
  const evil = plan({
    number: 9,
    head: head('x\ndelete refs/heads/main', B, 'alice/site'),
    ...OPEN,
  })
  assert.deepEqual(evil.create, { 'refs/pull/9/head': B, 'refs/heads/pull-9': B })
})
