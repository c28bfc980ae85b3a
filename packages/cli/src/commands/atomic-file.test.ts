import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { asNobody } from '../../../../test/support/as-nobody.ts'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { refuseExistingFile } from './atomic-file.ts'

test('a file that cannot be written is named as the user named it', async (t) => {
  const folder = join(temporaryDirectory(t), 'private')
  mkdirSync(folder, { mode: 0o700 })
  chmodSync(dirname(folder), 0o755)
  const file = join(folder, 'below', 'o.tar.gz')
  await asNobody(async () => {
    if (process.getuid?.() !== 0) chmodSync(folder, 0)
    await assert.rejects(refuseExistingFile(file, false), {
      name: 'UserError',
      message: `cannot write ${file}: this user may not create files in ${dirname(file)}`,
    })
  })
  chmodSync(folder, 0o700)
})

test('a missing directory and an existing file are refused', async (t) => {
  const folder = temporaryDirectory(t)
  const missing = join(folder, 'none', 'a')
  await assert.rejects(refuseExistingFile(missing, true), /directory .*none does not exist/)
  const file = join(folder, 'a')
  await refuseExistingFile(file, false)
  writeFileSync(file, '')
  await assert.rejects(refuseExistingFile(file, false), /exists already; use --force/)
  await refuseExistingFile(file, true)
})
