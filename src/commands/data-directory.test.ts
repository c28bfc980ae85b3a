import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/odd-repositories.ts'
import { PATIENCE_MS } from '../../test/support/patience.ts'
import { GODWIT } from './doctor/test-scene.ts'

test('a data directory that cannot be made is refused in a line', (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const served = ['serve', '--repositories', folder]
  for (const data of ['/proc/x', '/dev/null/x', file, join(file, 'x')]) {
    for (const command of [['serve'], served, ['account', 'list']]) {
      const { status, stderr, stdout } = spawnSync(GODWIT, [...command, '--data', data], {
        encoding: 'utf8',
        timeout: PATIENCE_MS,
      })
      const told = `${command.join(' ')} --data ${data}: ${stderr}`
      assert.equal(status, 1, told)
      assert.match(stderr, /^godwit: [^\n]+\n$/, told)
      assert.equal(stdout, '')
    }
  }
})
