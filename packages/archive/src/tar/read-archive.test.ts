import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { crc32, gunzipSync } from 'node:zlib'
import {
  collect,
  file,
  lines,
  noise,
  storeSegments,
  temporaryFolder,
} from '../../../../test/support/archive-samples.ts'
import type { ByteRange } from '../../../lib/src/bytes.ts'
import { BlobNotFound, type BlobStore } from '../../../server/src/blobs/blob-store.ts'
import { createDiskBlobStore } from '../../../server/src/blobs/disk.ts'
import { readArchive } from './copy-archive.ts'
import { planArchive, type StoredSegment } from './plan-archive.ts'
import { crc32Combine } from './write-segment.ts'

const SEGMENTS = [
  [file('schema.json', Buffer.from('{"version":"1.0.1"}'))],
  [file('a.pack', noise(300_000), true), file('a.idx', noise(1000), true)],
  [],
  [file('users_000001.json', lines(20_000))],
]

async function storedArchive(t: TestContext) {
  const blobs = createDiskBlobStore(await temporaryFolder(t))
  const segments = await storeSegments(blobs, SEGMENTS)
  const plan = planArchive(segments)
  return { blobs, segments, plan, bytes: await collect(readArchive(plan, blobs)) }
}

/** Wraps a store and records which blobs were opened. */
function recordOpens(blobs: BlobStore) {
  const opened: { key: string; range: ByteRange | undefined; stream: Readable }[] = []
  const open: BlobStore['open'] = async (key, range, options) => {
    const stream = await blobs.open(key, range, options)
    opened.push({ key, range, stream })
    return stream
  }
  return { open, opened }
}

test('the archive is one gzip member around the segments and the end of the tar', async (t) => {
  const { plan, segments, bytes } = await storedArchive(t)
  assert.equal(bytes.length, plan.length)
  assert.equal(bytes.subarray(0, 10).toString('hex'), '1f8b08000000000000ff')
  const tar = gunzipSync(bytes, { rejectGarbageAfterEnd: true })
  assert.equal(tar.length, plan.plainLength)
  const contents = segments.reduce((sum, { plainLength }) => sum + plainLength, 0)
  assert.ok(tar.subarray(contents).equals(Buffer.alloc(1024)))
})

test('an archive of no segments is an empty tar', async () => {
  const plan = planArchive([])
  const blobs = { open: () => assert.fail('there is nothing to open') }
  assert.ok(gunzipSync(await collect(readArchive(plan, blobs))).equals(Buffer.alloc(1024)))
})

test('ranges are slices of the whole at all boundaries', async (t) => {
  const { blobs, plan, bytes } = await storedArchive(t)
  const edges = new Set<number>()
  let at = 0
  for (const { length } of plan.parts) {
    for (const near of [at - 1, at, at + 1]) edges.add(near)
    edges.add(at + Math.floor(length / 2))
    at += length
  }
  for (const end of [plan.length - 8, plan.length - 1, plan.length]) edges.add(end)
  const points = [...edges].filter((edge) => edge >= 0 && edge <= plan.length)
  for (const start of points) {
    for (const end of points.filter((point) => point >= start)) {
      const part = await collect(readArchive(plan, blobs, { start, end }))
      assert.ok(part.equals(bytes.subarray(start, end)), `${start} to ${end}`)
    }
  }
})

test('a range opens only the blobs it touches, and only that part of them', async (t) => {
  const { blobs, plan } = await storedArchive(t)
  const [header, first, second] = plan.parts.map(({ length }) => length) as [number, number, number]
  const opened = async (start: number, end: number) => {
    const store = recordOpens(blobs)
    await collect(readArchive(plan, store, { start, end }))
    return store.opened.map(({ key, range }) => ({ key, ...range }))
  }
  assert.deepEqual(await opened(0, header), [])
  assert.deepEqual(await opened(header, header + 1), [{ key: 'segment-0', start: 0, end: 1 }])
  assert.deepEqual(await opened(header + first - 1, header + first + 5), [
    { key: 'segment-0', start: first - 1, end: first },
    { key: 'segment-1', start: 0, end: 5 },
  ])
  const past = header + first + second
  assert.deepEqual(
    (await opened(past, plan.length)).map(({ key }) => key),
    ['segment-3'],
  )
})

for (const range of [
  { start: -1, end: 5 },
  { start: 6, end: 5 },
  { start: 0, end: 1_000_000_000 },
  { start: Number.NaN, end: 5 },
]) {
  test(`there is no range ${range.start} to ${range.end}`, async (t) => {
    const { blobs, plan } = await storedArchive(t)
    await assert.rejects(collect(readArchive(plan, blobs, range)), RangeError)
  })
}

describe('errors', () => {
  test('a missing blob', async (t) => {
    const { blobs, plan } = await storedArchive(t)
    await blobs.delete('segment-1')
    await assert.rejects(collect(readArchive(plan, blobs)), BlobNotFound)
  })

  for (const [what, bytes] of [
    ['shorter', noise(10)],
    ['longer', noise(1_000_000)],
  ] as const) {
    test(`a blob that is ${what} than its segment`, async (t) => {
      const { plan } = await storedArchive(t)
      const open = async () => Readable.from([bytes])
      let sent = 0
      const reading = async () => {
        for await (const { length } of readArchive(plan, { open })) sent += length
      }
      await assert.rejects(
        reading,
        /segment-0 is damaged: expected \d+ bytes from offset 0, but read \d+/,
      )
      assert.ok(sent <= 10 + plan.parts[1]!.length, 'no byte that is not in the segment')
    })
  }

  test('leaving the loop closes the blob', async (t) => {
    const { blobs, plan } = await storedArchive(t)
    const store = recordOpens(blobs)
    for await (const _ of readArchive(plan, store, { start: 20, end: plan.length })) break
    assert.deepEqual(
      store.opened.map(({ stream }) => stream.destroyed),
      [true],
    )
  })

  test('an abort while a blob sends nothing', async (t) => {
    const { plan } = await storedArchive(t)
    const stop = new AbortController()
    const stuck = new Readable({ read() {}, signal: stop.signal })
    const archive = readArchive(plan, { open: async () => stuck }, undefined, {
      signal: stop.signal,
    })
    await archive.next()
    const pending = archive.next()
    stop.abort(new Error('cancelled'))
    await assert.rejects(pending, { name: 'AbortError' })
    assert.ok(stuck.destroyed)
  })
})

describe('the plan', () => {
  const segment: StoredSegment = {
    key: 'k',
    length: 10,
    plainLength: 512,
    crc32: 1,
    storedCrc32: null,
    sha256: 'a'.repeat(64),
  }

  test('the entity tag is strong, and changes with any segment and with their order', () => {
    const other = { ...segment, sha256: 'b'.repeat(64) }
    const tags = [
      [],
      [segment],
      [other],
      [segment, other],
      [other, segment],
      [segment, segment],
    ].map((segments) => planArchive(segments).etag)
    assert.equal(new Set(tags).size, tags.length)
    for (const tag of tags) assert.match(tag, /^"[0-9a-f]{64}"$/)
  })

  test('the key of a segment changes nothing', () => {
    const moved = planArchive([{ ...segment, key: 'elsewhere' }])
    assert.equal(moved.etag, planArchive([segment]).etag)
    assert.equal(moved.length, planArchive([segment]).length)
  })

  test('past 4 GiB the trailer holds the CRC of it all and the length modulo 2^32', () => {
    const large = { ...segment, key: 'large', plainLength: 5 * 2 ** 30, crc32: 0xfedcba98 }
    const { parts, plainLength } = planArchive([segment, large])
    const content = crc32Combine(segment.crc32, large.crc32, large.plainLength)
    const closing = parts.at(-1)!
    assert.ok('bytes' in closing)
    const trailer = Buffer.from(closing.bytes.subarray(-8))
    assert.equal(trailer.readUInt32LE(0), crc32(Buffer.alloc(1024), content))
    assert.equal(trailer.readUInt32LE(4), 2 ** 30 + 512 + 1024)
    assert.equal(plainLength, 5 * 2 ** 30 + 512 + 1024)
  })

  for (const wrong of [
    { plainLength: 513 },
    { plainLength: -512 },
    { length: '10' as unknown as number },
    { crc32: -1 },
    { crc32: 2 ** 32 },
    { sha256: 'A'.repeat(64) },
  ]) {
    test(`a segment with ${JSON.stringify(wrong)} is refused`, () => {
      assert.throws(() => planArchive([{ ...segment, ...wrong }]), /segment k is malformed/)
    })
  }
})
