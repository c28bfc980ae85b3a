import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GODWIT } from '../../../../test/support/doctor-scene.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../../../test/support/shared-commands.ts'

test('a data directory that cannot be created is reported in one line', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const godwit = createCommandRunner()
  const served = ['serve', '--repositories', folder]
  for (const data of ['/proc/x', '/dev/null/x', file, join(file, 'x')]) {
    for (const command of [['serve'], served, ['account', 'list']]) {
      const { code, stderr, stdout } = await godwit([...command, '--data', data])
      const shown = `${command.join(' ')} --data ${data}: ${stderr}`
      assert.equal(code, 1, shown)
      assert.match(stderr, /^godwit: [^\n]+\n$/, shown)
      assert.equal(stdout, '')
    }
  }
})

test('a data directory without write permission is no read-only file system', async (t) => {
  const data = temporaryDirectory(t)
  const godwit = createCommandRunner()
  assert.equal((await godwit(['account', 'add', 'alice', '--data', data])).code, 0)
  chmodSync(join(data, 'godwit.sqlite'), 0o666)
  chmodSync(data, 0o555)
  // Otherwise it could not be removed.
  using _ = { [Symbol.dispose]: () => chmodSync(data, 0o755) }
  // Root may write everywhere, unless it gives up these capabilities. Another user may be unable to reach the program.
  const isRoot = process.getuid?.() === 0
  const ordinary = ['setpriv', '--bounding-set=-dac_override,-dac_read_search', GODWIT]
  const [program, ...before] = isRoot ? ordinary : [GODWIT]
  for (const command of [
    ['serve', '--repositories', temporaryDirectory(t)],
    ['account', 'list'],
  ]) {
    const { status, stderr } = spawnSync(program!, [...before, ...command, '--data', data])
    assert.equal(status, 1)
    assert.match(
      String(stderr),
      /^godwit: this user may not create files in \S+, which belongs to /,
    )
  }
})
