import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { S3 } from '@aws-sdk/client-s3'
import { readArchive } from '../../packages/archive/src/tar/copy-archive.ts'
import { planArchive } from '../../packages/archive/src/tar/plan-archive.ts'
import { BlobExists, BlobNotFound } from '../../packages/server/src/blobs/blob-store.ts'
import { createS3BlobStore } from '../../packages/server/src/blobs/s3.ts'
import { composeArchive } from '../../packages/server/src/exporter/seal-archive.ts'
import { collect, file, lines, noise, storeSegments } from '../support/archive-samples.ts'
import { contentsOf, emptyBucket, needsObjectStore } from '../support/radosgw.ts'

const MEGABYTE = 1_000_000
const PRESIGN_OPTIONS = {
  filename: 'an-archive.tar.gz',
  contentType: 'application/x-gzip',
  expiresInSeconds: 300,
}

async function emptyStore() {
  const bucket = await emptyBucket()
  return { bucket, blobs: createS3BlobStore(bucket) }
}

const packSegment = (name: string, bytes: number) => [file(name, noise(bytes, bytes), true, 65_536)]
const smallSegment = (name: string, bytes: number) => [file(name, lines(bytes))]
const many = Array.from({ length: 80 }, (_, n) => smallSegment(`small-${n}`, 2000 * n))

describe('composing on a real server', needsObjectStore, () => {
  test('an archive of many small and some large segments has the same bytes as the segments', async () => {
    const { bucket, blobs } = await emptyStore()
    const segments = await storeSegments(blobs, [
      smallSegment('schema.json', 20),
      ...many.slice(0, 40),
      packSegment('large.pack', 11 * MEGABYTE),
      packSegment('copied-whole.pack', 5.3 * MEGABYTE),
      ...many.slice(40),
      packSegment('middling.pack', 6 * MEGABYTE),
      packSegment('last.pack', 10 * MEGABYTE),
    ])
    const plan = planArchive(segments)
    await composeArchive(plan, blobs, 'archive')
    const expected = await collect(readArchive(plan, blobs))
    assert.ok((await collect(await blobs.open('archive'))).equals(expected))
    const kept = [...segments.map(({ key }) => key), 'archive'].sort()
    assert.deepEqual(await contentsOf(bucket), { objects: kept, uploads: [] })

    const url = await blobs.presign('archive', PRESIGN_OPTIONS)
    const response = await fetch(url)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-length'), String(plan.length))
    assert.equal(response.headers.get('content-type'), 'application/x-gzip')
    const disposition = response.headers.get('content-disposition')
    assert.equal(disposition, 'attachment; filename=an-archive.tar.gz')
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(expected))

    const part = await fetch(url, { headers: { range: 'bytes=9000000-9000099' } })
    assert.equal(part.status, 206)
    const slice = expected.subarray(9_000_000, 9_000_100)
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(slice))
  })

  test('a small archive is composed', async () => {
    const { bucket, blobs } = await emptyStore()
    const plan = planArchive(
      await storeSegments(blobs, [smallSegment('a', 10), smallSegment('b', 100_000)]),
    )
    await composeArchive(plan, blobs, 'archive')
    const expected = await collect(readArchive(plan, blobs))
    assert.ok((await collect(await blobs.open('archive'))).equals(expected))
    assert.deepEqual((await contentsOf(bucket)).uploads, [])
  })

  describe('failures leave nothing behind', () => failureTests())
  describe('presigned addresses', () => presignTests())
})

/** One segment with a part that is uploaded, three that are copied, and two substitutes for the third. */
async function segmentsToCompose() {
  const { bucket, blobs } = await emptyStore()
  const packs = [11, 5.5, 5.5, 5.5].map((size, n) => packSegment(`${n}.pack`, size * MEGABYTE + n))
  const segments = await storeSegments(blobs, packs)
  await blobs.put('shorter', [noise(5_400_000)])
  await blobs.put('longer', [noise(5_600_000)])
  return { bucket, segments }
}

function failureTests(): void {
  // Failures change nothing, so all tests share a bucket.
  let stored: ReturnType<typeof segmentsToCompose> | undefined

  /** Stores four segments and lists the bucket. */
  async function setUp() {
    stored ??= segmentsToCompose()
    const { bucket, segments } = await stored
    const blobs = createS3BlobStore(bucket)
    /** Replaces the blob of the third segment. */
    const withThird = (key: string) => segments.with(2, { ...segments[2]!, key })
    return { bucket, blobs, segments, withThird, before: await contentsOf(bucket) }
  }

  test('a missing segment', async () => {
    const { bucket, blobs, withThird, before } = await setUp()
    const composing = composeArchive(planArchive(withThird('gone')), blobs, 'archive')
    await assert.rejects(composing, BlobNotFound)
    assert.deepEqual(await contentsOf(bucket), before)
  })

  for (const what of ['shorter', 'longer'])
    test(`a segment that is ${what} than its description`, async () => {
      const { bucket, blobs, withThird, before } = await setUp()
      await assert.rejects(composeArchive(planArchive(withThird(what)), blobs, 'archive'))
      assert.deepEqual(await contentsOf(bucket), before)
    })

  test('an abort', async (t) => {
    const { bucket, blobs, segments, before } = await setUp()
    const stop = new AbortController()
    const cancelled = new Error('cancelled')
    onCopy(t, () => stop.abort(cancelled))
    const composing = composeArchive(planArchive(segments), blobs, 'archive', stop)
    await assert.rejects(composing, cancelled)
    assert.deepEqual(await contentsOf(bucket), before)
  })

  test('an existing key', async () => {
    const { bucket, blobs, segments, before } = await setUp()
    const composing = composeArchive(planArchive(segments), blobs, 'segment-0')
    await assert.rejects(composing, BlobExists)
    assert.deepEqual(await contentsOf(bucket), before)
  })
}

/** Calls the callback whenever the server copies. */
function onCopy(t: TestContext, callback: () => void): void {
  const copy = S3.prototype.uploadPartCopy as (...args: unknown[]) => unknown
  t.mock.method(S3.prototype, 'uploadPartCopy', function (this: S3, ...args: unknown[]) {
    callback()
    return copy.apply(this, args)
  })
}

function presignTests(): void {
  test('give read access to that blob only', async () => {
    const { blobs } = await emptyStore()
    await blobs.put('archive', [Buffer.from('bytes')])
    await blobs.put('another', [Buffer.from('other')])
    const url = await blobs.presign('archive', PRESIGN_OPTIONS)
    assert.equal(await (await fetch(url)).text(), 'bytes')
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      assert.equal((await fetch(url, { method })).status, 403, method)
    }
    for (const changed of [
      url.replace('/archive?', '/another?'),
      url.replace('an-archive.tar.gz', 'invoice.exe'),
      url.replace('X-Amz-Expires=300', 'X-Amz-Expires=9000'),
    ]) {
      assert.notEqual(changed, url)
      assert.equal((await fetch(changed)).status, 403)
    }
  })

  test('use the public endpoint', async () => {
    const { endpoint, bucket } = await emptyBucket()
    const publicEndpoint = endpoint.replace('127.0.0.1', 'localhost')
    const blobs = createS3BlobStore({ bucket, endpoint, publicEndpoint, prefix: 'blobs/' })
    await blobs.put('archive', [Buffer.from('bytes')])
    const url = await blobs.presign('archive', PRESIGN_OPTIONS)
    assert.ok(url.startsWith(`${publicEndpoint}/${bucket}/blobs/archive?`))
    assert.equal(await (await fetch(url)).text(), 'bytes')
  })

  test('reject a file name that would need quoting', async () => {
    const { blobs } = await emptyStore()
    for (const filename of ['', 'a b', 'a"', 'a;b', 'a\r\nb', '../a/b']) {
      await assert.rejects(blobs.presign('archive', { ...PRESIGN_OPTIONS, filename }), TypeError)
    }
  })
}
