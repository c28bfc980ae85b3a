import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'

const run = promisify(execFile)
const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

/** Starts it as a newcomer does, without saying which repositories, and returns the commands it prints. */
async function startSample(t: TestContext, data: string, listen: string) {
  const args = ['serve', '--data', data, '--listen', listen, '--log-level', 'warn']
  const child = spawn(GODWIT, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const commands: string[] = []
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('curl ')) commands.push(line)
    if (commands.length === 4) break
  }
  return {
    commands,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

test('the first five minutes: every command that is printed works as it is printed', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'godwit-sample-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const listen = `127.0.0.1:${await freePort()}`
  const first = await startSample(t, data, listen)
  const paste = async (command: string) => {
    const { stdout } = await run('bash', ['-c', command], { cwd: data, maxBuffer: 1 << 24 })
    return stdout
  }

  const [status = '', repositories = '', start = '', download = ''] = first.commands
  const migration = JSON.parse(await paste(status))
  assert.equal(migration.state, 'exported')
  const covered = JSON.parse(await paste(repositories)) as Record<string, unknown>[]
  assert.equal(covered.length, 6)
  const named = (name: string) => covered.find((each) => each.full_name === name)!
  assert.equal(named('wader/nest-diary').private, true)
  assert.equal(named('wader/field-notes').has_wiki, true)
  assert.equal(named('wader/tide-tables').fork, true)
  assert.equal(named('shorebirds/starter').is_template, true)
  assert.equal((named('wader/flyway').template_repository as { name: string }).name, 'starter')
  assert.deepEqual(
    new Set(covered.map(({ language }) => language)),
    new Set(['Python', 'Rust', 'Go', 'TypeScript', null]),
  )
  assert.equal(JSON.parse(await paste(start)).state, 'pending')
  await paste(download)
  await run(GODWIT, ['verify', join(data, 'migration.tar.gz')])
  await first.stop()

  const second = await startSample(t, data, listen)
  assert.ok(JSON.parse(await paste(first.commands[0]!)).state, 'yesterday’s commands still work')
  assert.equal(second.commands[0]?.split("'")[1], first.commands[0]?.split("'")[1])
  await second.stop()

  const { stdout } = await run(GODWIT, ['account', 'list', '--data', data])
  assert.ok(!stdout.includes('wader'), 'nothing of the sample is seen outside of it')
})
