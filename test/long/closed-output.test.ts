import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { GODWIT, run } from '../support/doctor-scene.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

/** Runs a command whose standard output is a pipe that nobody reads. */
async function runWithClosedOutput(args: readonly string[]) {
  const child = spawn(GODWIT, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code, lastLine: stderr.trimEnd().split('\n').at(-1) }
}

test('a command whose result nobody reads says that standard output was closed', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const data = ['--data', temporaryDirectory(t)]
  await run(GODWIT, ['account', 'add', 'alice', ...data])
  for (const command of [
    ['export', 'alice', '--repositories', host.root, '--output', '-'],
    ['token', 'add', 'alice', ...data],
  ])
    assert.deepEqual(await runWithClosedOutput(command), {
      code: 1,
      lastLine: 'godwit: standard output was closed before everything was written',
    })
  assert.equal((await runWithClosedOutput(['account', 'list', ...data])).code, 0)
})
