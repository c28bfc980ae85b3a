import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteText } from './read-text.ts'

const NAMES = {
  ...{ fullName: 'alice/tool', offset: 2, mergeRequests: new Set([1]), uploads: new Map() },
  ...{ labels: new Set(['bug', 'v1.0']), milestones: new Map([['v2.0', 'v2.0']]) },
  logins: new Map([['ann.b', 'anna']]),
}

test('punctuation after a reference is not part of it', () => {
  for (const [before, after] of [
    ['Thanks, @ann.b. @ann.b, @ann.b...', 'Thanks, @anna. @anna, @anna...'],
    ['Is it ~bug? ~v1.0. ~bug: yes', 'Is it `bug`? `v1.0`. `bug`: yes'],
    ['In %v2.0. See !1.', 'In v2.0. See #3.'],
  ] as const)
    assert.equal(rewriteText(before, NAMES, new Map()), after)
})
