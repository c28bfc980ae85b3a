import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forgetSomebody } from './nobodys-environment.ts'
import { temporaryDirectory } from './odd-repositories.ts'
import { atTerminal, needsTerminal } from './terminal.ts'

const BEFORE = new URL('before-each-file.ts', import.meta.url).pathname

test('what a shell says of its user does not reach a test, what it says of the machine does', () => {
  const machine = { PATH: '/bin', HOME: '/home/x', LANG: 'C', TZ: 'Asia/Tokyo', TMPDIR: '/t' }
  const ours = { GODWIT_TEST_SEED: '1', GODWIT_WIRE_URL: 'http://x', GIT_EXEC_PATH: '/git' }
  const somebodys = {
    GODWIT_DATABASE_URL: 'postgres://production',
    GODWIT_TOKEN: 'x',
    GODWIT_CONFIG: '/etc/godwit/config',
    GITHUB_TOKEN: 'x',
    GIT_DIR: '/srv/other/.git',
    GIT_CONFIG_COUNT: '1',
    AWS_ENDPOINT_URL: 'http://production',
    PGHOST: 'production',
    FORCE_COLOR: '1',
  }
  const env: NodeJS.ProcessEnv = { ...machine, ...ours, ...somebodys, NO_PROXY: 'intra' }
  forgetSomebody(env)
  // The runner and every test file do.
  forgetSomebody(env)
  assert.deepEqual(env, {
    ...machine,
    ...ours,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GODWIT_CONFIG: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    NO_PROXY: '127.0.0.1,localhost,intra',
    no_proxy: '127.0.0.1,localhost',
  })
})

test('at a terminal no test is asked for colours', needsTerminal, async (t) => {
  const cwd = temporaryDirectory(t)
  writeFileSync(
    join(cwd, 'a.test.ts'),
    "import { test } from 'node:test'\ntest('a', (t) => t.diagnostic('asked ' + process.env.FORCE_COLOR))\n",
  )
  const line = `unset NODE_TEST_CONTEXT; ${process.execPath} --test --import=${BEFORE} a.test.ts`
  const { shown } = await atTerminal(line, { cwd, env: {} })
  assert.match(shown, /asked undefined/)
  for (const script of ['test', 'test-fire'])
    assert.match(
      readFileSync(new URL(`../../scripts/${script}`, import.meta.url), 'utf8'),
      /--import=\.\/test\/support\/before-each-file\.ts/,
    )
})
