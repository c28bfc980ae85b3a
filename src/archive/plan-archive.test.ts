import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { noise } from '../../test/support/archive-samples.ts'
import { crc32Combine } from './plan-archive.ts'

test('the CRC of two halves is that of the whole, wherever it is cut', () => {
  const whole = noise(70_000)
  for (const cut of [0, 1, 2, 3, 255, 256, 511, 512, 513, 65_535, 65_536, 69_999, 70_000]) {
    const [a, b] = [whole.subarray(0, cut), whole.subarray(cut)]
    assert.equal(crc32Combine(crc32(a), crc32(b), b.length), crc32(whole), `cut at ${cut}`)
  }
})

test('many pieces, one by one', () => {
  const pieces = Array.from({ length: 300 }, (_, index) => noise(index * 7, index))
  const combined = pieces.reduce((crc, piece) => crc32Combine(crc, crc32(piece), piece.length), 0)
  assert.equal(combined, crc32(Buffer.concat(pieces)))
})

test('lengths past 32 bits', () => {
  const mebibyte = Buffer.alloc(2 ** 20)
  const crcs = [0]
  for (let index = 0; index < 4099; index += 1) crcs.push(crc32(mebibyte, crcs[index]))
  for (const length of [4095, 4096, 4097]) {
    assert.equal(crc32Combine(crcs[2]!, crcs[length]!, length * 2 ** 20), crcs[length + 2])
  }
})

test('past 2^40 the order of combining makes no difference', () => {
  const [a, b, c] = [crc32('a'), crc32('b'), crc32('c')]
  const [lengthOfB, lengthOfC] = [2 ** 40 + 12_345, 2 ** 44 + 67]
  assert.equal(
    crc32Combine(crc32Combine(a, b, lengthOfB), c, lengthOfC),
    crc32Combine(a, crc32Combine(b, c, lengthOfC), lengthOfB + lengthOfC),
  )
})
