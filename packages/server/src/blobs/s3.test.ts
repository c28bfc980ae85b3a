import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fakeServer } from '../../../../test/support/fake-server.ts'
import { createS3BlobStore } from './s3.ts'
import { partSize } from './s3-upload.ts'

// Tests on a real server: test/long/s3.test.ts.
test('a request without an answer is sent again after a minute', async (t) => {
  let requests = 0
  const { url: endpoint } = await fakeServer(t, (_request, response) => {
    requests += 1
    if (requests > 1) response.writeHead(200, { 'content-length': 7 }).end()
  })
  const credentials = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' }
  t.mock.property(process, 'env', { ...process.env, AWS_REGION: 'us-east-1', ...credentials })
  const blobs = createS3BlobStore({ bucket: 'bucket', endpoint })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let size: number | undefined
  const reading = blobs.size('key').then((found) => {
    size = found
  })
  while (requests === 0) await setImmediate()
  t.mock.timers.tick(60_000)
  for (let pauseMs = 0; size === undefined; pauseMs++) {
    assert.ok(pauseMs < 30_000, 'the pause before the second request')
    await setImmediate()
    t.mock.timers.tick(1)
  }
  await reading
  assert.deepEqual([size, requests], [7, 2])
})

test('10,000 parts reach 5 TiB, and parts of the first 100 GB are small', () => {
  const sizes = Array.from({ length: 10_000 }, (_, index) => partSize(index + 1))
  assert.ok(sizes.reduce((sum, size) => sum + size) >= 5 * 1024 ** 4)
  assert.ok(Math.min(...sizes) >= 5 * 1024 ** 2)
  assert.ok(Math.max(...sizes) <= 5 * 1024 ** 3)
  let reached = 0
  const needed = sizes.findIndex((size) => {
    reached += size
    return reached > 100e9
  })
  assert.ok(sizes[needed]! <= 64 * 1024 ** 2)
})
