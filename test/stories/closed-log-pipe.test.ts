import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { withTimeout } from '../support/wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const REQUESTS = 200

test('a service whose log pipe is closed continues, and stops on request', async (t) => {
  await using host = await gitHost()
  const url = `http://127.0.0.1:${await freePort()}`
  const where = ['--repositories', host.root, '--data', temporaryDirectory(t)]
  const child = spawn(GODWIT, ['serve', ...where, '--listen', url.slice('http://'.length)])
  t.after(() => child.kill('SIGKILL'))
  await withTimeout('the service prints a line', once(createInterface(child.stdout), 'line'))
  child.stderr.destroy()
  for (let request = 0; request < REQUESTS; request++) {
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
  }
  child.kill('SIGTERM')
  const [code, signal] = await withTimeout('the service has ended', once(child, 'exit'))
  assert.deepEqual([code, signal], [0, null])
})
