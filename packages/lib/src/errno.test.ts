import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { codeOf, hasCode, ifExists, isCertificateCode, isTlsCode, rootCause } from './errno.ts'

const thrownBy = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('an error of the system or of zlib has a code', () => {
  const missing = thrownBy(() => readFileSync('/nowhere/at/all'))
  assert.equal(codeOf(missing), 'ENOENT')
  assert.equal(codeOf(thrownBy(() => inflateSync(Buffer.from('no')))), 'Z_DATA_ERROR')
  assert.ok(hasCode(missing, 'ENOTDIR', 'ENOENT'))
  assert.ok(!hasCode(missing, 'EEXIST'))
})

test('any other error has no code', () => {
  for (const other of [new Error('plain'), undefined, null, 'ENOENT', { code: 'ENOENT' }]) {
    assert.equal(codeOf(other), undefined)
    assert.ok(!hasCode(other, 'ENOENT'))
  }
  assert.equal(codeOf(Object.assign(new Error('a number'), { code: 23 })), undefined)
})

test('the root cause of a fetch error is found', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  const thrown = new TypeError('fetch failed', { cause: new AggregateError([refused]) })
  assert.deepEqual(rootCause(thrown), { code: 'ECONNREFUSED', message: 'connect' })
  assert.deepEqual(rootCause('no error at all'), { code: '', message: 'no error at all' })
})

test('an untrusted certificate is recognized by its code', () => {
  for (const code of ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'HOSTNAME_MISMATCH', 'CERT_HAS_EXPIRED'])
    assert.ok(isCertificateCode(code), code)
  for (const code of ['ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT'])
    assert.ok(isCertificateCode(code) && !isTlsCode(code), code)
  for (const code of ['ECONNRESET', 'ERR_TLS_HANDSHAKE_TIMEOUT'])
    assert.ok(!isCertificateCode(code) && !isTlsCode(code), code)
})

test('a server without TLS is recognized by its code', () => {
  for (const code of ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])
    assert.ok(isTlsCode(code), code)
})

test('ifExists returns undefined for the given codes only', async () => {
  assert.equal(await ifExists(Promise.resolve(1), 'ENOENT'), 1)
  assert.equal(await ifExists(readFile('/nowhere/at/all'), 'ENOTDIR', 'ENOENT'), undefined)
  await assert.rejects(ifExists(readFile('/nowhere/at/all'), 'ENOTDIR'), { code: 'ENOENT' })
})
