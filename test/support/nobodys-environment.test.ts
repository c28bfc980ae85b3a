import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetSomebody } from './nobodys-environment.ts'

test('what a shell says of its user does not reach a test, what it says of the machine does', () => {
  const machine = { PATH: '/bin', HOME: '/home/x', LANG: 'C', TZ: 'Asia/Tokyo', TMPDIR: '/t' }
  const ours = { GODWIT_TEST_SEED: '1', GODWIT_WIRE_URL: 'http://x', GIT_EXEC_PATH: '/git' }
  const somebodys = {
    GODWIT_DATABASE_URL: 'postgres://production',
    GODWIT_TOKEN: 'x',
    GITHUB_TOKEN: 'x',
    GIT_DIR: '/work/.git',
    GIT_CONFIG_COUNT: '1',
    AWS_ENDPOINT_URL: 'http://production',
    PGHOST: 'production',
    FORCE_COLOR: '1',
  }
  const env: NodeJS.ProcessEnv = { ...machine, ...ours, ...somebodys, NO_PROXY: 'intra' }
  forgetSomebody(env)
  assert.deepEqual(env, {
    ...machine,
    ...ours,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    NO_PROXY: '127.0.0.1,localhost,intra',
    no_proxy: '127.0.0.1,localhost',
  })
})
