import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { test } from 'node:test'
import { reachablePrograms } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const ROOT = new URL('../..', import.meta.url).pathname

const TESTS = `
import { describe, test } from 'node:test'
import { skipUnless } from '${ROOT}test/support/skip-unless.ts'
test('passes', () => {})
describe('a group', () => test('needs a browser', skipUnless(false, 'Chromium is not installed'), () => {
  throw new Error('no browser')
}))
`

const FAILING = `
import { describe, test } from 'node:test'
import { fakeServer } from '${ROOT}test/support/fake-server.ts'
describe("it's a group (of 2)", () => {
  test('passes', () => {})
  test('fails', async (t) => {
    const { url } = await fakeServer(t, (_, response) => void response.end())
    await fetch(url + '/seen')
    throw new Error()
  })
})
test('passes', () => {})
`

test('a failing test fails the run; tests whose program is missing are skipped and listed, and fail under CI=true', (t) => {
  const folder = temporaryDirectory(t)
  const [file, failing, broken, group] = ['file', 'failing', 'broken', 'group'].map((name) =>
    join(folder, `${name}.test.ts`),
  ) as [string, string, string, string]
  writeFileSync(broken, 'throw new Error()')
  const start = (command: string, env: NodeJS.ProcessEnv = {}) => {
    const { NODE_TEST_CONTEXT: _, CI: __, ...inherited } = process.env
    return spawnSync(command, {
      env: { ...inherited, GODWIT_TEST_PARTS: 'none', ...env },
      encoding: 'utf8',
      shell: true,
      cwd: ROOT,
    })
  }
  const run = (files: string[], env: NodeJS.ProcessEnv = {}) => {
    const runner = JSON.stringify(join(ROOT, 'test/support/test-group.ts'))
    const list = JSON.stringify(files)
    writeFileSync(group, `import { runTestFiles } from ${runner}\nrunTestFiles(${list})\n`)
    return start(`scripts/test ${group}`, env)
  }
  writeFileSync(file, TESTS)
  const skipped = run([file])
  assert.equal(skipped.status, 0, skipped.stdout)
  assert.match(
    skipped.stdout,
    /skipped, Chromium is not installed:\n.*needs a browser\n.*tests 2\n/,
  )
  writeFileSync(failing, FAILING)
  const failed = run([file, failing, broken], { CI: 'true' })
  assert.equal(failed.status, 1)
  assert.match(failed.stdout, /the requests to the server at port \d+:\nGET \/seen\n/)
  const [ofMissing, command, ofBroken] = failed.stdout.trimEnd().split('\n').slice(-3)
  const commandOf = (test: string, file: string) =>
    `  npm test -- --test-name-pattern='^${test}$' ${relative(ROOT, file)}`
  assert.equal(ofMissing, commandOf('a group needs a browser', file))
  assert.equal(command, commandOf(`it'\\''s a group \\(of 2\\) fails`, failing))
  assert.equal(ofBroken, `  npm test -- ${relative(ROOT, broken)}`)
  const alone = start(command.replace('npm test --', 'scripts/test'))
  assert.equal(alone.status, 1)
  assert.match(alone.stdout, / tests 1\n/)
  assert.ok(alone.stdout.endsWith(`${command}\n`), alone.stdout)
  const { status, stderr } = run([file], { TMPDIR: join(folder, 'none') })
  assert.match(stderr, /^npm test: cannot start the directory for temporary files: ENOENT: .*\n$/)
  assert.equal(status, 1)
})

test('PostgreSQL runs from a copy if only root may enter the directory of the checkout', {
  skip: process.getuid?.() !== 0 && 'as an ordinary user, PostgreSQL runs as that user',
}, async (t) => {
  const nobody = { uid: 65_534, gid: 65_534 }
  const folder = temporaryDirectory(t)
  chmodSync(folder, 0o755)
  const installed = join(folder, 'root/postgres')
  for (const name of ['bin', 'lib']) mkdirSync(join(installed, name), { recursive: true })
  // The program needs a library beside it.
  writeFileSync(join(installed, 'lib/library.1'), '', { mode: 0o600 })
  symlinkSync('library.1', join(installed, 'lib/library'))
  const program = '#!/bin/sh\ncat "$(dirname "$0")/../lib/library"\n'
  writeFileSync(join(installed, 'bin/initdb'), program, { mode: 0o700 })
  const find = (copy: string) => reachablePrograms(installed, nobody, join(folder, copy))
  chmodSync(join(folder, 'root'), 0o700)
  const copy = await find('copy')
  assert.equal(copy, join(folder, 'copy'))
  const { status, stderr } = spawnSync(join(copy, 'bin/initdb'), { ...nobody, encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  for (const [path, mode] of [
    ['', 0o755],
    ['/postgres/bin/initdb', 0o755],
    ['/postgres/lib/library.1', 0o644],
  ] as const)
    chmodSync(join(folder, `root${path}`), mode)
  assert.equal(await find('unused'), installed)
})

test('without root, missing programs are listed and not installed, which fails under CI=true', (t) => {
  const programs = join(temporaryDirectory(t), 'bin')
  mkdirSync(programs)
  const folders = process.env.PATH!.split(delimiter)
  for (const name of ['bash', 'env', 'dirname']) {
    const folder = folders.find((each) => existsSync(join(each, name)))!
    symlinkSync(join(folder, name), join(programs, name))
  }
  for (const [name, script] of Object.entries({ id: 'echo 1000', npm: ':', 'apt-get': 'exit 1' }))
    writeFileSync(join(programs, name), `#!/usr/bin/env bash\n${script}\n`, { mode: 0o755 })
  const install = (env: NodeJS.ProcessEnv) => {
    const script = join(ROOT, 'scripts/install-test-parts')
    return spawnSync(script, { env: { PATH: programs, ...env }, encoding: 'utf8' })
  }
  const { status, stdout } = install({})
  assert.match(
    stdout,
    /\n {2}sudo apt-get install --yes --no-install-recommends .*chromium.*radosgw/,
  )
  assert.equal(status, 0)
  assert.equal(install({ CI: 'true' }).status, 1)
  assert.equal(install({ GODWIT_TEST_PARTS: 'none' }).stdout, '')
})
