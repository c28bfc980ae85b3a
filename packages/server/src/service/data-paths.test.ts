import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gitOptions } from './data-paths.ts'

test('the limits of git come from the settings', () => {
  const settings = { data: 'var', git: 'git', searchPath: '/bin', gitTimeout: 30_000 }
  assert.equal(gitOptions({ ...settings, gitMemory: 100 }).idleTimeoutMs, 30_000)
  assert.equal(gitOptions({ ...settings, gitMemory: 100 }).maxMemory, 100 * 1024 * 1024)
  assert.equal(gitOptions({ ...settings, gitMemory: undefined }).maxMemory, undefined)
})
