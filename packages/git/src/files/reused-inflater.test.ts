import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { codeOf } from '../../../lib/src/errno.ts'
import { createInflater } from './reused-inflater.ts'

const INPUTS = [Buffer.alloc(0), Buffer.from('short'), randomBytes(100_000), Buffer.alloc(500_000)]

test('an engine inflates one stream after the other, and says where each ends', () => {
  const inflate = createInflater()
  for (const input of [...INPUTS, ...INPUTS]) {
    const deflated = deflateSync(input)
    const { output, used } = inflate(Buffer.concat([deflated, Buffer.from('what follows')]))
    assert.ok(output.equals(input))
    assert.equal(used, deflated.length)
  }
})

test('an engine inflates streams with larger windows after those with smaller ones', () => {
  const inflate = createInflater()
  const input = randomBytes(20_000)
  for (const windowBits of [9, 15, 12, 14, 9, 10, 13, 11])
    assert.ok(inflate(deflateSync(input, { windowBits })).output.equals(input))
})

test('an engine goes on after a damaged, a truncated and a too long stream', () => {
  const inflate = createInflater(300_000)
  const whole = deflateSync(randomBytes(1000))
  const failures: [Buffer, string][] = [
    [Buffer.from('no stream'), 'Z_DATA_ERROR'],
    [whole.subarray(0, 500), 'Z_BUF_ERROR'],
    [deflateSync(Buffer.alloc(400_000)), 'ERR_BUFFER_TOO_LARGE'],
  ]
  for (const [input, code] of failures) {
    assert.throws(
      () => inflate(input),
      (error) => codeOf(error) === code,
    )
    assert.equal(inflate(whole).output.length, 1000)
  }
})
