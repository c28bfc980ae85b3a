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

test('an uncaught error in a test of a room fails the run, and the other tests of it go on', (t) => {
  const folder = temporaryDirectory(t)
  const support = new URL('support/', import.meta.url).pathname
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, `import { describe, test } from 'node:test'\n${text}`)
    return path
  }
  // It waits for longer than the error takes to come, which is all that it waits for.
  const waits = "await new Promise((resolve) => process.once('uncaughtException', resolve))"
  const error = "setTimeout(() => { throw new Error('nobody caught it') })"
  const first = file('first.ts', `test('throws', async () => { ${error}; ${waits} })\n`)
  const second = file('second.ts', "describe('others', () => { test('are run', () => {}) })\n")
  const files = JSON.stringify([first, second])
  const room = file('room.test.ts', `import { room } from '${support}room.ts'\nroom(${files})\n`)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const run = [`--import=${support}before-each-file.ts`, '--test', '--test-reporter=spec', room]
  const { status, stdout } = spawnSync(process.execPath, run, { env, encoding: 'utf8' })
  assert.match(stdout, /nobody caught it/)
  assert.match(stdout, /▶ others\n +✔ are run/)
  assert.equal(status, 1)
})
