import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../settings/config.ts'
import { dataPathsOf } from './data-paths.ts'

test('the limits of git come from the settings', () => {
  const { git } = dataPathsOf(readConfig({ gitTimeout: '30s', gitMemory: '100' }, {}), '/srv/git')
  assert.equal(git.idleTimeoutMs, 30_000)
  assert.equal(git.maxMemory, 100 * 1024 * 1024)
  assert.equal(dataPathsOf(readConfig({}, {}), '/srv/git').git.maxMemory, undefined)
})
