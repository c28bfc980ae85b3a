import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/sample-repositories.ts'
import { createCommandRunner } from '../../test/support/shared-commands.ts'

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
