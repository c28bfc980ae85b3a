import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { blobStoreContract } from './blob-store.contract.ts'
import { BlobNotFound } from './blob-store.ts'
import { createDiskBlobStore } from './disk.ts'
import { watchErrors } from './watch-errors.ts'

async function watchedDisk(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-watched-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const root = join(folder, 'blobs')
  const reported: string[] = []
  const blobs = watchErrors(createDiskBlobStore(root), (operation) => reported.push(operation))
  return { blobs, reported, root }
}

blobStoreContract('watched', async (t) => (await watchedDisk(t)).blobs)

test('failures of the store are reported by operation', async (t) => {
  const { blobs, reported, root } = await watchedDisk(t)
  await blobs.put('short', [])
  await assert.rejects(blobs.open('short', { start: 0, end: 1 }), RangeError)
  await rm(root, { recursive: true })
  await assert.rejects(blobs.put('a', [Buffer.from('a')]))
  await assert.rejects(blobs.probe())
  await assert.rejects(blobs.sweepUnfinished(0))
  await assert.rejects(Array.fromAsync(blobs.list()))
  assert.deepEqual(reported, ['open', 'put', 'probe', 'sweep', 'list'])
})

test('aborts, missing blobs and errors of the given bytes are not reported', async (t) => {
  const { blobs, reported } = await watchedDisk(t)
  await assert.rejects(blobs.size('missing'), BlobNotFound)
  await assert.rejects(blobs.open('missing'), BlobNotFound)
  const stopping = new AbortController()
  async function* stopped() {
    yield Buffer.from('a')
    stopping.abort()
    yield Buffer.from('b')
  }
  await assert.rejects(blobs.put('a', stopped(), { signal: stopping.signal }))
  async function* broken() {
    yield Buffer.from('a')
    throw new Error('the pack is damaged')
  }
  await assert.rejects(blobs.put('b', broken()), /the pack is damaged/)
  assert.deepEqual(reported, [])
})

test('a failure while a blob is read is reported', async (t) => {
  const { blobs, reported } = await watchedDisk(t)
  await blobs.put('a', [Buffer.alloc(1_000_000)])
  const stream = await blobs.open('a')
  stream.once('data', () => stream.destroy(new Error('the disk gave up')))
  await assert.rejects(Array.fromAsync(stream), /the disk gave up/)
  assert.deepEqual(reported, ['read'])
})
