import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../settings/config.ts'
import { placesOf } from './places.ts'

test('git is limited as the settings say', () => {
  const { git } = placesOf(readConfig({ gitTimeout: '30s', gitMemory: '100' }, {}), '/srv/git')
  assert.equal(git.idleTimeoutMs, 30_000)
  assert.equal(git.maxMemory, 100 * 1024 * 1024)
  assert.equal(placesOf(readConfig({}, {}), '/srv/git').git.maxMemory, undefined)
})
