import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

test('the types of the wire are those of our own description', () => {
  const script = new URL('../scripts/wire-types.ts', import.meta.url).pathname
  const { stderr, status } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})
