import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { constants, deflateSync, inflateSync, type ZlibOptions } from 'node:zlib'
import { codeOf } from '../../../lib/src/errno.ts'
import { packedStream } from './packed-stream.ts'

const { Z_FIXED, Z_HUFFMAN_ONLY, Z_DEFAULT_STRATEGY } = constants

/** Words that zlib compresses with codes of many lengths, and no part of which is in a header. */
function textOf(seed: number, length: number): Buffer {
  const words = Array.from(
    { length },
    (_, at) => `${((at * 7919 + seed * 104_729) % 9973).toString(36)}z`,
  )
  return Buffer.from(words.join('_').slice(0, length).replaceAll(/[0-9]/g, 'q'))
}

function loose(type: string, content: Buffer, options?: ZlibOptions): Buffer {
  return deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]), options)
}

function inflatedToEnd(stream: Buffer): Buffer {
  const { buffer, engine } = inflateSync(stream, { info: true }) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  assert.equal(engine.bytesWritten, stream.length)
  return buffer
}

test('a stream for a pack has the content of the loose object, however it was compressed', () => {
  const contents = [
    ...Array.from({ length: 60 }, (_, seed) => textOf(seed, 40 + seed * seed * 11)),
    randomBytes(20_000),
    Buffer.concat([randomBytes(3000), textOf(1, 50_000)]),
  ]
  const removedBytes = new Set<number>()
  for (const content of contents)
    for (const strategy of [Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_FIXED])
      for (const level of [0, 1, 6, 9]) {
        const type = ['blob', 'tree', 'commit', 'tag'][level % 4]!
        const file = loose(type, content, { level, strategy })
        const { header, stream } = packedStream(file) ?? {}
        assert.equal(header, `${type} ${content.length}`)
        assert.ok(inflatedToEnd(stream!).equals(content))
        removedBytes.add(file.length - stream!.length)
      }
  assert.ok(removedBytes.size > 4, 'bits were inserted into few streams')
})

test('a stream whose content repeats the header cannot be inflated without it', () => {
  const file = loose('blob', Buffer.concat([Buffer.from('blob 1'), textOf(3, 993)]))
  const { stream } = packedStream(file)!
  assert.throws(() => inflateSync(stream), { code: 'Z_DATA_ERROR' })
})

test('damaged streams give no stream, or one that cannot be inflated to the same content', () => {
  const content = textOf(5, 3000)
  for (const level of [0, 6]) {
    const file = loose('blob', content, { level })
    for (let bit = 0; bit < file.length * 8; bit += bit < 1000 ? 1 : 9) {
      const damaged = Buffer.from(file)
      damaged[bit >>> 3]! ^= 1 << (bit & 7)
      const { header, stream } = packedStream(damaged) ?? {}
      const isSame = header === `blob ${content.length}` && inflated(stream!)?.equals(content)
      // Bits that have no meaning may change.
      if (isSame) assert.ok(inflated(damaged), `level ${level}, bit ${bit}`)
    }
    for (let length = 0; length < file.length; length += 7) packedStream(file.subarray(0, length))
  }
})

/** Returns undefined for a damaged stream. */
function inflated(stream: Buffer): Buffer | undefined {
  try {
    return inflateSync(stream)
  } catch (error) {
    assert.match(codeOf(error) ?? '', /^Z_/)
    return undefined
  }
}
