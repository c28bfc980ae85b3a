import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Examination, Snapshot } from '../../../git/src/snapshot.ts'
import type { Source } from '../../../hosts/src/source.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createSegmentMaker } from './make-segment.ts'

const MEGABYTE = Buffer.alloc(1024 * 1024)
const SIZE = 80 * MEGABYTE.length
const OPTIONS = {
  repository: { owner: 'alice', name: 'large' },
  key: 'segment',
  lastVerified: undefined,
  storedFingerprints: [],
}

/** Makes a segment from a pack of 80 MB. `onChunk` is called with each chunk that is read. */
function makeLarge(verify: Snapshot['verify'], signal: AbortSignal, onChunk: () => void) {
  const seen = { chunks: 0, deleted: [] as string[], isRemoved: false }
  const entry = {
    ...{ kind: 'file', path: 'large.pack', size: SIZE, modifiedAt: 0, packed: true },
    async *open() {
      for (let chunk = 0; chunk < 80; chunk++) {
        seen.chunks++
        onChunk()
        yield MEGABYTE
      }
    },
  }
  const examination = { fingerprint: 'f', bytes: SIZE } as Examination
  const snapshot = {
    ...{ examination, verify, entries: () => [entry] },
    async remove() {
      seen.isRemoved = true
    },
  } as Partial<Snapshot>
  const source = {
    examine: async () => examination,
    snapshot: async () => snapshot,
  } as unknown as Source
  const blobs = {
    async put(_key, bytes, { signal } = {}) {
      for await (const _ of bytes) signal?.throwIfAborted()
    },
    delete: async (key) => void seen.deleted.push(key),
  } as Partial<BlobStore> as BlobStore
  const maker = createSegmentMaker({ source, blobs, scratchDirectory: '' })
  return { seen, made: maker.make(OPTIONS, signal, () => {}) }
}

const LEFT = { deleted: ['segment'], isRemoved: true }

test('an abort stops the reading and writing of a pack, and the verification', async () => {
  const aborter = new AbortController()
  const enough = new Error('cancelled')
  const verify = (_last: unknown, signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const { seen, made } = makeLarge(verify, aborter.signal, () => aborter.abort(enough))
  await assert.rejects(made, enough)
  const { chunks, ...left } = seen
  assert.ok(chunks <= 2, `${chunks} MB were read`)
  assert.deepEqual(left, LEFT)
})

test('a failed verification stops the writing, and its reason is the error', async () => {
  const damaged = new Error('a pack is damaged')
  const { seen, made } = makeLarge(
    () => Promise.reject(damaged),
    new AbortController().signal,
    () => {},
  )
  await assert.rejects(made, damaged)
  const { chunks, ...left } = seen
  assert.ok(chunks <= 2, `${chunks} MB were read`)
  assert.deepEqual(left, LEFT)
})
