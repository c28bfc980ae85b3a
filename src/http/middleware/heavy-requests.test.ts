import assert from 'node:assert/strict'
import { chmod, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cloneScene } from '../../../test/support/clone-scene.ts'
import { onEachEngine } from '../../../test/support/databases.ts'
import { temporaryDirectory } from '../../../test/support/odd-repositories.ts'
import { until } from '../../../test/support/wait-until.ts'
import { createGit } from '../../git/git.ts'

/** Wraps git: on demand it waits forever, and has a file named by its process id meanwhile. */
async function waitingGit(t: TestContext) {
  const dir = temporaryDirectory(t)
  const running = join(dir, 'running')
  const program = join(dir, 'git')
  const script = `#!/bin/sh
[ -e ${dir}/wait ] || exec git "$@"
touch ${running}-$$
trap 'rm ${running}-$$; exit 1' TERM
while [ -e ${dir}/wait ]; do sleep 0.05; done
`
  await writeFile(program, script)
  await chmod(program, 0o755)
  t.after(() => rm(join(dir, 'wait'), { force: true }))
  return {
    git: createGit({ program, searchPath: process.env.PATH ?? '', home: join(dir, 'home') }),
    wait: () => writeFile(join(dir, 'wait'), ''),
    waiting: async () =>
      (await readdir(dir))
        .filter((name) => name.startsWith('running-'))
        .map(pidIn)
        .filter(isAlive).length,
  }
}

const pidIn = (name: string) => Number(name.slice('running-'.length))

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

onEachEngine('preflights', (engine) => {
  test('stop when their client is gone, and one account runs two at a time', async (t) => {
    const { git, wait, waiting } = await waitingGit(t)
    const { token, call, log } = await cloneScene(
      t,
      async (host) => {
        for (const owner of ['alice', 'bob'])
          await host.repository(`${owner}/a`, { files: { a: '1' } })
      },
      { engine, serving: git },
    )
    await wait()
    const gone = new AbortController()
    const tokens = { alice: await token('alice'), bob: await token('bob') }
    const preflight = (owner: keyof typeof tokens, signal?: AbortSignal) =>
      call(tokens[owner], '/user/migrations/preflight', {
        method: 'POST',
        body: JSON.stringify({ repositories: ['a'] }),
        ...(signal && { signal }),
      })
    const asked = Array.from({ length: 5 }, () => preflight('alice', gone.signal))
    const other = preflight('bob', gone.signal)
    // Each looks with two gits.
    await until('two of them and the other one look', async () => (await waiting()) >= 6)
    assert.equal((await call(tokens.alice, '/user')).status, 200)
    assert.equal(await waiting(), 6)
    gone.abort()
    for (const each of [...asked, other]) await assert.rejects(each, { name: 'AbortError' })
    await until('nothing is looked at any more', async () => (await waiting()) === 0)
    assert.doesNotMatch(log(), /request failed/)
  })
})
