import assert from 'node:assert/strict'
import { chmodSync, closeSync, openSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { protectNewOutputFile } from './print.ts'

test('a file that a shell has just created for a token can be read by its owner alone', (t) => {
  const file = join(temporaryDirectory(t), 'token')
  const modeAfter = (content: string) => {
    writeFileSync(file, content)
    chmodSync(file, 0o644)
    const fd = openSync(file, 'a')
    protectNewOutputFile(fd)
    closeSync(fd)
    return statSync(file).mode & 0o777
  }
  assert.equal(modeAfter(''), 0o600)
  assert.equal(modeAfter('a log'), 0o644)
})
