import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

test('a flat layout needs an owner, and only layouts without directories of owners have a use for one', () => {
  assert.throws(() => readConfig({ layout: 'flat' }, {}), /--owner: must be set/)
  assert.throws(() => readConfig({ owner: 'team' }, {}), /--owner: is only for/)
  assert.throws(() => readConfig({ layout: 'flat', owner: 'a b' }, {}), /--owner: must be the name/)
  assert.equal(readConfig({ layout: 'flat', owner: 'team' }, {}).owner, 'team')
  assert.equal(readConfig({ layout: 'any-depth' }, {}).owner, undefined)
})

test('addresses name the owner, unless there is but one', () => {
  const webUrl = 'https://git.example.com/{name}'
  assert.throws(() => readConfig({ webUrl }, {}), /--web-url: must contain {owner} and {name}/)
  const { cloneUrl } = readConfig({ webUrl, layout: 'flat', owner: 'team' }, {})
  assert.equal(cloneUrl, `${webUrl}.git`)
})
