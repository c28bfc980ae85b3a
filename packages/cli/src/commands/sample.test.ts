import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { GODWIT } from '../../../../test/support/doctor-scene.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'
import { until } from '../../../../test/support/wait-until.ts'
import { openLog } from '../../../server/src/service/log.ts'
import { readConfig } from '../settings/config.ts'
import { startSample } from './sample.ts'

/** Starts and stops `serve` without repositories. Returns all that it printed and logged. */
async function serve(t: TestContext, data: string, ...flags: string[]): Promise<string> {
  const listen = `127.0.0.1:${await freePort()}`
  const args = ['serve', '--data', data, '--listen', listen, ...flags]
  const service = spawn(GODWIT, args)
  t.after(() => service.kill('SIGKILL'))
  let output = ''
  for (const stream of [service.stdout, service.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  await until(
    () => `it is ready: ${output}`,
    () => output.includes('is exported. To see'),
  )
  service.kill('SIGTERM')
  await once(service, 'close')
  return output
}

/** Starts the sample in this process, and stops it. Returns the notice. */
async function startAndStop(data: string): Promise<string> {
  const config = readConfig({ data, listen: `127.0.0.1:${await freePort()}` }, process.env)
  const logging = openLog(config, openSync(join(data, 'log'), 'a'))
  const service = await startSample(config, { logging, dashboard: '' })
  await service.stop()
  await logging.close()
  return String(service.notice)
}

const WARNING = 'serving the built-in sample repositories: set --repositories DIR to serve your own'

const tokenIn = (output: string) => /^User: +wader, token (\S+)$/m.exec(output)?.[1]

test('serve warns that it serves the sample, unless that is wanted; it starts with any address, and after its token was revoked', async (t) => {
  const data = temporaryDirectory(t)
  const config = join(data, 'config')
  await writeFile(config, '# repositories = /srv/git\n')
  // An address that this machine cannot reach.
  const first = await serve(t, data, '--config', config, '--base-url', 'https://godwit.invalid')
  assert.ok(first.includes(WARNING))
  assert.match(first, /^Dashboard: +https:\/\/godwit\.invalid\//m)

  const revoke = ['token', 'remove', '--all-of', 'wader', '--data', join(data, 'sample')]
  assert.equal((await createCommandRunner()(revoke)).code, 0)
  // As `npm start` does.
  const second = await serve(t, data, '--config', '/dev/null', '--log-level', 'warn')
  assert.ok(!second.includes(WARNING))
  assert.ok(tokenIn(first) && tokenIn(second) && tokenIn(first) !== tokenIn(second))
  assert.equal(tokenIn(await startAndStop(data)), tokenIn(second))
})
