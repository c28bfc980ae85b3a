import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { constants, crc32, inflateRawSync } from 'node:zlib'
import {
  directory,
  file,
  lines,
  noise,
  segmentInMemory,
} from '../../../../test/support/archive-samples.ts'
import { type SegmentEntry, writeSegment } from './write-segment.ts'

const inflate = (bytes: Buffer): Buffer =>
  inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH })

const SIZES = [
  0, 1, 511, 512, 513, 65_022, 65_023, 65_024, 65_534, 65_535, 65_536, 65_537, 523_767, 523_768,
  523_769, 524_279, 524_280, 524_281, 1_048_576, 1_700_001,
]

describe('content of every size is read back unchanged', () => {
  for (const packed of [true, false]) {
    for (const size of SIZES) {
      test(`${size} bytes ${packed ? 'packed' : 'deflated'}`, async () => {
        const content = noise(size, size)
        const segment = await segmentInMemory([file('a', content, packed)])
        const plain = inflate(segment.bytes)
        assert.ok(plain.subarray(512, 512 + size).equals(content))
        assert.equal(plain.length, 512 + Math.ceil(size / 512) * 512)
        assert.equal(segment.plainLength, plain.length)
        assert.equal(segment.crc32, crc32(plain))
        assert.equal(segment.length, segment.bytes.length)
        assert.equal(segment.sha256, createHash('sha256').update(segment.bytes).digest('hex'))
      })
    }
  }
})

const mixedEntries = (chunk?: number): SegmentEntry[] => [
  directory('r'),
  file('r/HEAD', Buffer.from('ref: refs/heads/main\n'), false, chunk),
  file('r/a.pack', noise(700_000, 1), true, chunk),
  directory('r/refs'),
  file('r/b.pack', noise(70_000, 2), true, chunk),
  file('r/packed-refs', lines(1_200_000), false, chunk),
  file('r/empty', Buffer.alloc(0), true, chunk),
]

test('the size of the chunks in which content is read does not change the segment', async () => {
  const expected = await segmentInMemory(mixedEntries())
  for (const chunk of [97, 65_536, 10_000_000]) {
    assert.deepEqual(await segmentInMemory(mixedEntries(chunk)), expected)
  }
})

test('packed content is stored and text is deflated', async () => {
  const packed = await segmentInMemory([file('a', lines(600_000), true)])
  assert.ok(packed.length > packed.plainLength)
  assert.ok(packed.length < packed.plainLength + 10 * 5 + 1)
  const text = await segmentInMemory([file('a', lines(600_000))])
  assert.ok(text.length < 10_000)
})

test('small files are compressed together', async () => {
  const entries = Array.from({ length: 500 }, (_, index) =>
    file(`issues_${index}.json`, lines(300)),
  )
  const { bytes } = await segmentInMemory(entries)
  const flushes = bytes.toString('latin1').split('\x00\x00\xff\xff').length - 1
  assert.equal(flushes, 1)
})

test('segments can be in any order, because none refers to bytes before it', async () => {
  const [a, b] = [
    await segmentInMemory(mixedEntries()),
    await segmentInMemory([file('z', lines(5000))]),
  ]
  for (const order of [
    [a, b],
    [b, a],
    [b, b, a],
  ]) {
    const joined = inflate(Buffer.concat(order.map(({ bytes }) => bytes)))
    assert.ok(joined.equals(Buffer.concat(order.map(({ bytes }) => inflate(bytes)))))
  }
})

test('a segment without entries has no bytes', async () => {
  const { bytes, ...segment } = await segmentInMemory([])
  assert.equal(bytes.length, 0)
  assert.deepEqual([segment.plainLength, segment.length, segment.crc32], [0, 0, 0])
})

describe('errors', () => {
  for (const [found, size] of [
    ['10', 11],
    ['more', 9],
    ['more', 0],
  ] as const) {
    test(`a file of 10 bytes whose entry says ${size}`, async () => {
      const entry = { ...file('r/changed', noise(10)), size }
      const message = `r/changed should have ${size} bytes, but has ${found}`
      await assert.rejects(segmentInMemory([entry]), { message })
    })
  }

  test('an unsafe path', async () => {
    await assert.rejects(
      segmentInMemory([file('../etc/passwd', noise(1))]),
      /"\.\.\/etc\/passwd" has a part/,
    )
  })

  test('a failing sink closes the file being read, and its error is thrown', async () => {
    let closed = false
    const endless = {
      ...file('a', noise(1), true),
      size: Number.MAX_SAFE_INTEGER,
      *open() {
        try {
          for (;;) yield Buffer.alloc(100_000)
        } finally {
          closed = true
        }
      },
    }
    const full = new Error('no space left')
    const sink = async (bytes: AsyncIterable<Uint8Array>) => {
      for await (const _ of bytes) throw full
    }
    await assert.rejects(writeSegment([endless], sink), full)
    assert.ok(closed)
  })

  test('a sink that stops early without an error', async () => {
    const sink = async (bytes: AsyncIterable<Uint8Array>) => {
      for await (const _ of bytes) return
    }
    await assert.rejects(writeSegment([file('a', noise(10))], sink), /stopped reading/)
  })

  test('an abort between two pieces', async () => {
    const stop = new AbortController()
    const entries = [file('a', noise(2_000_000), true)]
    const sink = async (bytes: AsyncIterable<Uint8Array>) => {
      for await (const _ of bytes) stop.abort(new Error('cancelled'))
    }
    await assert.rejects(writeSegment(entries, sink, { signal: stop.signal }), /cancelled/)
  })

  test('an abort before the start never calls the sink', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'))
    let calls = 0
    const sink = async () => void calls++
    await assert.rejects(writeSegment([], sink, { signal }), /cancelled/)
    assert.equal(calls, 0)
  })
})

test('the last chunk stays as it is until the sink has resolved', async () => {
  const entries = [file('a.pack', noise(1_700_001, 1), true)]
  const others = [file('b.pack', noise(1_700_001, 2), true)]
  let last: Uint8Array = Buffer.alloc(0)
  await writeSegment(entries, async (bytes) => {
    for await (const chunk of bytes) last = chunk
    const expected = Buffer.from(last)
    await segmentInMemory(others)
    assert.ok(expected.equals(last))
  })
})
