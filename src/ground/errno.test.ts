import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { codeOf, hasCode } from './errno.ts'

const thrownBy = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('a failure of the system or of zlib has a code', () => {
  const missing = thrownBy(() => readFileSync('/nowhere/at/all'))
  assert.equal(codeOf(missing), 'ENOENT')
  assert.equal(codeOf(thrownBy(() => inflateSync(Buffer.from('no')))), 'Z_DATA_ERROR')
  assert.ok(hasCode(missing, 'ENOTDIR', 'ENOENT'))
  assert.ok(!hasCode(missing, 'EEXIST'))
})

test('anything else has none', () => {
  for (const other of [new Error('plain'), undefined, null, 'ENOENT', { code: 'ENOENT' }]) {
    assert.equal(codeOf(other), undefined)
    assert.ok(!hasCode(other, 'ENOENT'))
  }
  assert.equal(codeOf(Object.assign(new Error('a number'), { code: 23 })), undefined)
})
