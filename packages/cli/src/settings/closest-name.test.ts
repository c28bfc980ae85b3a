import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean } from './closest-name.ts'

test('the closest name is suggested if one is similar', () => {
  const names = ['data', 'listen', 'repositories', 'base-url', 'git', 'token-file']
  for (const [written, meant] of [
    ['listne', 'listen'],
    ['Data', 'data'],
    ['dat', 'data'],
    ['repositries', 'repositories'],
    ['base_url', 'base-url'],
    ['tokenfile', 'token-file'],
  ] as const)
    assert.equal(didYouMean(written, names), `; did you mean ${meant}?`)
  assert.equal(didYouMean('nothing-like-it', names), '')
})
