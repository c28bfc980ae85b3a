import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { switchUserToOwnerOf } from './data-owner.ts'

test('root does not become an owner who cannot read the program', {
  skip: process.getuid?.() !== 0 && 'only root can give files away',
}, (t) => {
  const folder = temporaryDirectory(t)
  const [data, closed] = [join(folder, 'data'), join(folder, 'closed')]
  for (const each of [data, closed]) mkdirSync(each, { mode: 0o700 })
  chownSync(data, 65_534, 65_534)
  chmodSync(folder, 0o755)
  const program = join(closed, 'main.js')
  writeFileSync(program, '')
  const groups = process.getgroups?.() ?? []
  t.after(() => process.setgroups?.(groups))
  assert.throws(() => switchUserToOwnerOf(data, program), {
    name: 'UserError',
    message: `${program} cannot be read by nobody, the owner of ${data}, as whom root runs this command: install Godwit where every user may read it`,
  })
  assert.deepEqual([process.getuid?.(), process.geteuid?.(), process.getegid?.()], [0, 0, 0])
})
