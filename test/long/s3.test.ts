import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { blobStoreContract } from '../../packages/server/src/blobs/blob-store.contract.ts'
import {
  BlobExists,
  BlobNotFound,
  type BlobStore,
} from '../../packages/server/src/blobs/blob-store.ts'
import { createS3BlobStore } from '../../packages/server/src/blobs/s3.ts'
import { collect, noise } from '../support/archive-samples.ts'
import {
  contentsOf,
  emptyBucket,
  needsObjectStore,
  ownGateway,
  type TestBucket,
} from '../support/radosgw.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const MEGABYTE = 1_000_000

/** Yields megabytes in one chunk that is overwritten each time. */
async function* megabytes(count: number, meanwhile?: (sent: number) => unknown) {
  const chunk = Buffer.alloc(MEGABYTE)
  for (let sent = 0; sent < count; sent += 1) {
    await meanwhile?.(sent)
    noise(MEGABYTE, sent).copy(chunk)
    yield chunk
  }
}

const bytesOf = (count: number) =>
  Buffer.concat(Array.from({ length: count }, (_, index) => noise(MEGABYTE, index)))

/** The space must be encoded in URLs. */
const PREFIX = 'a folder/for blobs'

async function emptyStore(): Promise<TestBucket & { blobs: BlobStore }> {
  const bucket = await emptyBucket()
  return { ...bucket, blobs: createS3BlobStore({ ...bucket, prefix: PREFIX }) }
}

const EMPTY = { objects: [], uploads: [] }

describe('a bucket of a real server', needsObjectStore, () => {
  blobStoreContract('s3', async () => (await emptyStore()).blobs)
  describe('in parts', inParts)
  describe('unfinished blobs', unfinished)
  describe('a server that stops and comes back', outages)
})

function inParts(): void {
  test('a blob of several parts is read back unchanged', async () => {
    const { blobs } = await emptyStore()
    await blobs.put('large', megabytes(17))
    assert.equal(await blobs.size('large'), 17 * MEGABYTE)
    const whole = bytesOf(17)
    assert.ok((await collect(await blobs.open('large'))).equals(whole))
    // The third part ends within it.
    const range = { start: 15_200_000, end: 16_200_000 }
    const slice = whole.subarray(range.start, range.end)
    assert.ok((await collect(await blobs.open('large', range))).equals(slice))
  })

  test('an existing key is refused', async () => {
    const { blobs, ...testBucket } = await emptyStore()
    await blobs.put('a', [Buffer.from('first')])
    await assert.rejects(blobs.put('a', megabytes(11)), BlobExists)
    assert.equal((await collect(await blobs.open('a'))).toString(), 'first')
    assert.deepEqual((await contentsOf(testBucket)).uploads, [])
  })

  test('failing bytes or an abort after the first part leave nothing', async () => {
    const { blobs, ...testBucket } = await emptyStore()
    const unplugged = new Error('unplugged')
    const failing = megabytes(17, (sent) => {
      if (sent === 13) throw unplugged
    })
    await assert.rejects(blobs.put('a', failing), unplugged)
    assert.deepEqual(await contentsOf(testBucket), EMPTY)

    const stop = new AbortController()
    const cancelled = new Error('cancelled')
    const stopping = megabytes(17, (sent) => sent === 13 && stop.abort(cancelled))
    await assert.rejects(blobs.put('a', stopping, { signal: stop.signal }), cancelled)
    assert.deepEqual(await contentsOf(testBucket), EMPTY)
  })
}

function unfinished(): void {
  test('a killed put leaves no blob, and its upload is swept once it is old', async () => {
    const { blobs, ...testBucket } = await emptyStore()
    const program = `
      const { createS3BlobStore } = await import(process.argv[1])
      async function* stuck() {
        yield Buffer.alloc(17_000_000)
        process.stdout.write('begun')
        await new Promise(() => setInterval(() => {}, 1000))
      }
      const [bucket, endpoint] = process.argv.slice(2)
      const prefix = '${PREFIX}'
      await createS3BlobStore({ bucket, endpoint, prefix }).put('killed', stuck())
    `
    const s3 = new URL('../../packages/server/src/blobs/s3.ts', import.meta.url).href
    const args = ['--input-type=module', '-e', program, s3, testBucket.bucket, testBucket.endpoint]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await withTimeout('the writer has begun', once(child.stdout, 'data'))
    child.kill('SIGKILL')
    await withTimeout('the writer is dead', once(child, 'close'))

    await assert.rejects(blobs.open('killed'), BlobNotFound)
    const remains = { objects: [], uploads: [`${PREFIX}/killed`] }
    assert.equal(await blobs.sweepUnfinished(3_600_000), 0)
    assert.deepEqual(await contentsOf(testBucket), remains)
    // The server may still be storing a part, which counts as a change.
    await until('its remains are swept', async () => {
      await blobs.sweepUnfinished(0)
      return isDeepStrictEqual(await contentsOf(testBucket), EMPTY)
    })
  })

  test('an old upload that still receives parts is not swept', async (t) => {
    const { blobs, s3, bucket: Bucket, ...testBucket } = await emptyStore()
    const Key = `${PREFIX}/slow`
    const upload = await s3.createMultipartUpload({ Bucket, Key })
    const { Uploads } = await s3.listMultipartUploads({ Bucket })
    const begunAt = Uploads![0]!.Initiated!.getTime()
    const { UploadId } = upload
    await s3.uploadPart({ Bucket, Key, UploadId, PartNumber: 1, Body: Buffer.alloc(MEGABYTE) })
    t.mock.method(Date, 'now', () => begunAt + 60_000)
    assert.equal(await blobs.sweepUnfinished(60_000), 0)
    t.mock.restoreAll()
    assert.deepEqual((await contentsOf({ ...testBucket, s3, bucket: Bucket })).uploads, [Key])
  })

  test('uploads and objects that are not blobs stay', async () => {
    const { blobs, s3, bucket: Bucket, ...testBucket } = await emptyStore()
    const names = ['elsewhere', `${PREFIX}/NOT A KEY`, `${PREFIX}/deeper/thing`]
    for (const Key of names) {
      await s3.putObject({ Bucket, Key, Body: 'x' })
      await s3.createMultipartUpload({ Bucket, Key })
    }
    assert.equal(await blobs.sweepUnfinished(0), 0)
    assert.deepEqual(await Array.fromAsync(blobs.list()), [])
    const stayed = names.sort()
    const contents = await contentsOf({ ...testBucket, s3, bucket: Bucket })
    assert.deepEqual(contents, { objects: stayed, uploads: stayed })
  })
}

function outages(): void {
  test('operations fail with BlobsUnavailable, and work again afterwards', async (t) => {
    const { bucket } = await emptyBucket()
    const gateway = await ownGateway(t)
    const blobs = createS3BlobStore({ bucket, endpoint: gateway.endpoint })
    await blobs.put('before', [Buffer.from('before')])
    await gateway.kill()
    const unreachable = { name: 'BlobsUnavailable', message: /ECONNREFUSED/ }
    await assert.rejects(blobs.put('during', [Buffer.from('during')]), unreachable)
    await assert.rejects(blobs.put('during', megabytes(20)), unreachable)
    await assert.rejects(blobs.open('before'), unreachable)
    await assert.rejects(blobs.size('before'), unreachable)
    await assert.rejects(blobs.delete('before'), unreachable)
    await assert.rejects(Array.fromAsync(blobs.list()), unreachable)
    await assert.rejects(blobs.sweepUnfinished(0), unreachable)
    await assert.rejects(blobs.probe(), unreachable)
    await gateway.restart()
    await blobs.probe()
    assert.equal((await collect(await blobs.open('before'))).toString(), 'before')
    await assert.rejects(blobs.size('during'), BlobNotFound)
    await blobs.put('during', [Buffer.from('after')])
  })

  test('a missing bucket is not mistaken for an outage', async () => {
    const { endpoint } = await emptyBucket()
    const blobs = createS3BlobStore({ bucket: 'missing-bucket', endpoint })
    const missing = { name: 'NoSuchBucket', message: /: the bucket missing-bucket does not exist/ }
    await assert.rejects(blobs.probe(), missing)
    await assert.rejects(blobs.put('a', [Buffer.from('a')]), missing)
  })

  test('interrupted puts and downloads fail, and the rest of the put is swept', async (t) => {
    const testBucket = await emptyBucket()
    const gateway = await ownGateway(t)
    const blobs = createS3BlobStore({ ...testBucket, endpoint: gateway.endpoint })
    await blobs.put('whole', megabytes(40))
    const download = await blobs.open('whole')
    const cutOff = megabytes(17, (sent) => sent === 13 && gateway.kill())
    await assert.rejects(blobs.put('cut-off', cutOff), { name: 'BlobsUnavailable' })
    await assert.rejects(collect(download))
    await gateway.restart()
    assert.deepEqual(await contentsOf(testBucket), { objects: ['whole'], uploads: ['cut-off'] })
    assert.equal(await blobs.sweepUnfinished(0), 1)
    assert.deepEqual(await contentsOf(testBucket), { objects: ['whole'], uploads: [] })
    assert.ok((await collect(await blobs.open('whole'))).equals(bytesOf(40)))
  })
}
