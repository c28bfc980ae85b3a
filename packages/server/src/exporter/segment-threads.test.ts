import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isMainThread, parentPort, threadId, workerData } from 'node:worker_threads'
import { until, withTimeout } from '../../../../test/support/wait-until.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import { describeDiskFailure } from '../../../lib/src/disk-errors.ts'
import { BlobsUnavailable } from '../blobs/blob-store.ts'
import { type MadeSegment, type SegmentMaker, serveSegmentRequests } from './make-segment.ts'
import { createSegmentThreads } from './segment-threads.ts'

const INSPECTION = { fingerprint: 'f', bytes: 9 }
const EXAMINED = { ...INSPECTION, storedLength: 1 }
const OPTIONS = {
  repository: { owner: 'alice', name: 'site' },
  key: 'k',
  lastVerified: undefined,
  storedFingerprints: [],
}
const FULL_DISK = { code: 'ENOSPC', syscall: 'copyfile', path: '/srv/x', freeBytes: 7 }

/** Reports that an object was collected, as an error of the blob store. */
const collected = new FinalizationRegistry(() => parentPort!.postMessage({ blobError: 'put' }))

/** Implementations of `make` in a thread, selected by the workerData of a test. */
const MAKES = {
  segment: async ({ storedFingerprints }, _signal, onProgress) => {
    if (storedFingerprints.includes('f')) return { ...INSPECTION, segment: undefined }
    onProgress({ ...INSPECTION, bytesDone: 4 })
    return { ...INSPECTION, segment: { fingerprint: 'f' } as MadeSegment }
  },
  untilAborted: async (_options, signal, onProgress) => {
    onProgress({ ...INSPECTION, bytesDone: 0 })
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    throw signal.reason
  },
  fullDisk: () => Promise.reject(Object.assign(new Error('no space'), FULL_DISK)),
  unreadable: () => Promise.reject(new Unreadable('alice/site: HEAD is missing')),
  noBucket: () => Promise.reject(new BlobsUnavailable('the bucket does not respond')),
  crash: () => process.exit(1),
  garbage: async () => {
    collected.register({}, undefined)
    return { ...INSPECTION, segment: undefined }
  },
  threadId: async () => ({ ...INSPECTION, fingerprint: `${threadId}`, segment: undefined }),
} satisfies Record<string, SegmentMaker['make']>

if (isMainThread) runTests()
else
  serveSegmentRequests(parentPort!, {
    examine: async () => [EXAMINED],
    make: MAKES[workerData as keyof typeof MAKES],
    digest: async () => undefined,
  })

function runTests() {
  const { signal } = new AbortController()

  function threadFor(
    t: TestContext,
    make: keyof typeof MAKES,
    options: { idleMs?: number; onBlobError?: (operation: string) => void } = {},
  ) {
    const threads = createSegmentThreads({
      module: new URL(import.meta.url),
      workerData: make,
      count: 1,
      ...options,
    })
    t.after(() => threads.stop())
    return threads
  }

  test('a thread reports progress and returns the segment it made', async (t) => {
    const done: number[] = []
    const made = await threadFor(t, 'segment').make(OPTIONS, signal, ({ bytesDone }) =>
      done.push(bytesDone),
    )
    assert.deepEqual(made, { ...INSPECTION, segment: { fingerprint: 'f' } })
    assert.deepEqual(done, [4])
  })

  test('a thread collects garbage when it has no requests', async (t) => {
    const collection = Promise.withResolvers<unknown>()
    const threads = threadFor(t, 'garbage', { onBlobError: collection.resolve })
    await threads.make(OPTIONS, signal, () => {})
    assert.equal(await withTimeout('the thread collects garbage', collection.promise), 'put')
  })

  test('a thread makes no segment whose fingerprint is stored', async (t) => {
    const options = { ...OPTIONS, storedFingerprints: ['e', 'f'] }
    const made = await threadFor(t, 'segment').make(options, signal, () => {})
    assert.deepEqual(made, { ...INSPECTION, segment: undefined })
  })

  test('an abort reaches the thread', async (t) => {
    const aborter = new AbortController()
    const making = threadFor(t, 'untilAborted').make(OPTIONS, aborter.signal, () => aborter.abort())
    await assert.rejects(making, /abort/)
  })

  test('a full disk is reported with its path and free bytes', async (t) => {
    const error: unknown = await threadFor(t, 'fullDisk')
      .make(OPTIONS, signal, () => {})
      .catch((error: unknown) => error)
    assert.equal(
      describeDiskFailure(error),
      'cannot write /srv/x: no space left on the disk (7 bytes free)',
    )
  })

  test('Unreadable and BlobsUnavailable keep their classes', async (t) => {
    await assert.rejects(
      threadFor(t, 'unreadable').make(OPTIONS, signal, () => {}),
      Unreadable,
    )
    await assert.rejects(
      threadFor(t, 'noBucket').make(OPTIONS, signal, () => {}),
      BlobsUnavailable,
    )
  })

  test('a crashed thread fails its requests and is started again', async (t) => {
    const threads = threadFor(t, 'crash')
    await assert.rejects(
      threads.make(OPTIONS, signal, () => {}),
      /ended unexpectedly/,
    )
    const repository = { ...OPTIONS.repository, last: { key: '', fingerprint: '', bytes: 0 } }
    assert.deepEqual(await threads.examine([repository], signal), [EXAMINED])
  })

  test('an idle thread ends, and the next request starts another one', async (t) => {
    const threads = threadFor(t, 'threadId', { idleMs: 1 })
    const threadOf = async () => (await threads.make(OPTIONS, signal, () => {})).fingerprint
    const first = await threadOf()
    await until('another thread responds', async () => (await threadOf()) !== first)
  })
}
