import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/odd-repositories.ts'
import { makeDirectory } from './make-directory.ts'

test('a directory is made with all above it, and left as it is where it is there', (t) => {
  const path = join(temporaryDirectory(t), 'a/b/c')
  makeDirectory(path, 0o700)
  assert.equal(statSync(path).mode & 0o777, 0o700)
  makeDirectory(path, 0o755)
  assert.equal(statSync(path).mode & 0o777, 0o700)
})

test('what cannot be made is refused, and soon', (t) => {
  const file = join(temporaryDirectory(t), 'file')
  writeFileSync(file, '')
  for (const path of [
    '/proc/x',
    '/proc/x/y',
    '/dev/null/x',
    '/dev/null/x/y',
    file,
    join(file, 'x'),
  ])
    assert.throws(() => makeDirectory(path), { syscall: 'mkdir' }, path)
})
