import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { noise } from '../../../../test/support/archive-samples.ts'
import { crc32Combine } from './write-segment.ts'

test('the CRC of two parts combines to that of the whole', () => {
  const whole = noise(70_000)
  for (const cut of [0, 1, 2, 3, 255, 256, 511, 512, 513, 65_535, 65_536, 69_999, 70_000]) {
    const [a, b] = [whole.subarray(0, cut), whole.subarray(cut)]
    assert.equal(crc32Combine(crc32(a), crc32(b), b.length), crc32(whole), `cut at ${cut}`)
  }
})

test('the CRCs of many pieces combine one by one', () => {
  const pieces = Array.from({ length: 300 }, (_, index) => noise(index * 7, index))
  const combined = pieces.reduce((crc, piece) => crc32Combine(crc, crc32(piece), piece.length), 0)
  assert.equal(combined, crc32(Buffer.concat(pieces)))
})

/** The CRCs of this many mebibytes of zeros. Computing them takes seconds. */
const CRCS_OF_ZEROS: Readonly<Record<number, number>> = {
  2: 0x8d89877e,
  4095: 0x65d3537a,
  4096: 0xd202ef8d,
  4097: 0xc6a48b28,
  4098: 0x65323a31,
  4099: 0xa07cfa47,
}

test('lengths of more than 32 bits combine', () => {
  const crcOf = (mebibytes: number) => CRCS_OF_ZEROS[mebibytes]!
  assert.equal(crc32(Buffer.alloc(2 * 2 ** 20)), crcOf(2))
  for (const length of [4095, 4096, 4097]) {
    assert.equal(crc32Combine(crcOf(2), crcOf(length), length * 2 ** 20), crcOf(length + 2))
  }
})

test('above 2^40 the order of combining does not matter', () => {
  const [a, b, c] = [crc32('a'), crc32('b'), crc32('c')]
  const [lengthOfB, lengthOfC] = [2 ** 40 + 12_345, 2 ** 44 + 67]
  assert.equal(
    crc32Combine(crc32Combine(a, b, lengthOfB), c, lengthOfC),
    crc32Combine(a, crc32Combine(b, c, lengthOfC), lengthOfB + lengthOfC),
  )
})
