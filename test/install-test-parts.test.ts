import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryDirectory } from './support/odd-repositories.ts'

const SCRIPT = new URL('../scripts/install-test-parts', import.meta.url).pathname

/** A Debian where hardly anything is installed, and whose `apt-get` notes what it is asked to do, with what was said before. */
function bareMachine(t: TestContext, { userId }: { userId: number }) {
  const folder = temporaryDirectory(t)
  const [programs, notes] = [join(folder, 'bin'), join(folder, 'notes')]
  mkdirSync(programs)
  writeFileSync(notes, '')
  for (const name of ['bash', 'env', 'dirname', 'awk', 'xargs', 'cat', 'true']) {
    symlinkSync(
      spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim(),
      join(programs, name),
    )
  }
  const program = (name: string, script: string) =>
    writeFileSync(join(programs, name), `#!/usr/bin/env bash\n${script}\n`, { mode: 0o755 })
  program('id', `echo ${userId}`)
  program('npm', ':')
  program(
    'apt-get',
    `echo "$*" >> ${notes}
    case "$*" in
      *--print-uris*) echo "'http://debian.test/a.deb' a.deb 123000000 SHA256:0" ;;
      *--simulate*) echo 'Inst radosgw (1)' ;;
    esac`,
  )
  program('apt-cache', 'echo "Installed-Size: 400000"')
  return {
    install: (name: string) => program(name, ':'),
    run(env: NodeJS.ProcessEnv = {}) {
      const ended = spawnSync(SCRIPT, { env: { PATH: programs, ...env }, encoding: 'utf8' })
      return { code: ended.status, said: ended.stdout + ended.stderr }
    },
    asked: () => readFileSync(notes, 'utf8').split('\n').filter(Boolean),
  }
}

test('root is told what will be installed, how large it is, and how to go without', (t) => {
  const machine = bareMachine(t, { userId: 0 })
  const { said } = machine.run()
  assert.match(said, /^.*will be installed: .*chromium.*radosgw/)
  assert.match(said, /123 MB to download, 410 MB on the disk/)
  assert.match(said, /GODWIT_TEST_PARTS=none/)
  assert.match(machine.asked().at(-1)!, /^install --yes --no-install-recommends -qq .*radosgw/)
})

test('an ordinary user is given the one command, and nothing is installed', (t) => {
  const machine = bareMachine(t, { userId: 1000 })
  const { code, said } = machine.run()
  assert.match(said, /\n {2}sudo apt-get install --yes --no-install-recommends .*chromium.*radosgw/)
  assert.deepEqual(machine.asked(), [])
  assert.equal(code, 0)
  assert.equal(machine.run({ CI: 'true' }).code, 1, 'where all tests must run, a part is missing')
})

test('one browser is enough, whichever of the two it is', (t) => {
  const machine = bareMachine(t, { userId: 1000 })
  assert.match(machine.run().said, / chromium-headless-shell /)
  machine.install('chromium')
  assert.doesNotMatch(machine.run().said, /chromium/)
})

test('whoever wants none of it is not bothered', (t) => {
  const machine = bareMachine(t, { userId: 0 })
  assert.deepEqual(machine.run({ GODWIT_TEST_PARTS: 'none' }), { code: 0, said: '' })
  assert.deepEqual(machine.asked(), [])
})
