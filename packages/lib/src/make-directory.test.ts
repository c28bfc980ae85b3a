import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { makeDirectory } from './make-directory.ts'

test('a directory is created with its parents, and an existing one is left unchanged', (t) => {
  const path = join(temporaryDirectory(t), 'a/b/c')
  makeDirectory(path, 0o700)
  assert.equal(statSync(path).mode & 0o777, 0o700)
  makeDirectory(path, 0o755)
  assert.equal(statSync(path).mode & 0o777, 0o700)
})

test('a directory that cannot be created is an error, without retries', (t) => {
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
