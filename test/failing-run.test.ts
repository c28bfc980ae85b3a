import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from './support/odd-repositories.ts'

const SETUP = new URL('support/global-setup.ts', import.meta.url).pathname

test('a run in which a test fails ends with a code that says so', (t) => {
  const file = join(temporaryDirectory(t), 'fails.test.ts')
  writeFileSync(file, "import { test } from 'node:test'\ntest('fails', () => { throw 'up' })\n")
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const run = ['--test', `--test-global-setup=${SETUP}`, file]
  const { status, stdout } = spawnSync(process.execPath, run, { env, encoding: 'utf8' })
  assert.match(stdout, /fail 1/)
  assert.equal(status, 1)
})
