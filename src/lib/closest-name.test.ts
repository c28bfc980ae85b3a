import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closestName, didYouMean } from './closest-name.ts'

test('the closest name is suggested, or none', () => {
  const names = ['data', 'listen', 'repositories', 'base-url', 'git', 'token-file']
  for (const [written, meant] of [
    ['listne', 'listen'],
    ['Data', 'data'],
    ['dat', 'data'],
    ['repositries', 'repositories'],
    ['base_url', 'base-url'],
    ['tokenfile', 'token-file'],
    ['nothing-like-it', undefined],
  ] as const)
    assert.equal(closestName(written, names), meant, written)
  assert.equal(didYouMean('listne', names), '; did you mean listen?')
  assert.equal(didYouMean('nothing-like-it', names), '')
})
