// Imported first, before the test runner.
import './untracked-promises.ts'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before every test file (`--import`) and by the test runner itself: removes the variables of the developer's shell that
 * would lead a test to another server, database, bucket or repository, or colour the output of programs. At a terminal the test
 * runner sets FORCE_COLOR for all test files.
 */
const PERSONAL =
  /^(GODWIT_(?!TEST_|WIRE_)|GIT_(?!EXEC_PATH$)|AWS_|PG[A-Z]+$|GITHUB_TOKEN$|FORCE_COLOR$)/

const { env } = process
for (const name of Object.keys(env)) if (PERSONAL.test(name)) delete env[name]
env.GIT_CONFIG_GLOBAL = '/dev/null'
env.GIT_CONFIG_NOSYSTEM = '1'
// A machine where Godwit is installed has /etc/godwit/config.
env.GODWIT_CONFIG = '/dev/null'
// The developer may be logged in to a server.
env.XDG_CONFIG_HOME = join(tmpdir(), 'godwit-test-config')
// Tests connect to servers on this machine; curl and Python would use a proxy for them.
const LOCAL = ['127.0.0.1', 'localhost']
for (const name of ['NO_PROXY', 'no_proxy']) {
  const others = (env[name] ?? '').split(',').filter((each) => each && !LOCAL.includes(each))
  env[name] = [...LOCAL, ...others].join(',')
}
// A worker thread cannot set it.
if (isMainThread) process.umask(0o022)
