import assert from 'node:assert/strict'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  collect,
  file,
  noise,
  storeSegments,
  temporaryFolder,
} from '../../../../test/support/archive-samples.ts'
import { damageBlob, flipBit } from '../../../../test/support/damage-blob.ts'
import { BlobNotFound } from '../../../server/src/blobs/blob-store.ts'
import { createDiskBlobStore } from '../../../server/src/blobs/disk.ts'
import { copyArchive, readArchive, SegmentDamaged } from './copy-archive.ts'
import { planArchive } from './plan-archive.ts'

async function scene(t: TestContext) {
  const root = await temporaryFolder(t)
  const blobs = createDiskBlobStore(root)
  const large = [file('a.pack', noise(900_000), true)]
  const segments = await storeSegments(blobs, [large, [file('b.pack', noise(1000), true)]])
  return { root, blobs, segments, plan: planArchive(segments) }
}

const { signal } = new AbortController()

test('copies of the archive and of ranges are correct, from files and from streams', async (t) => {
  const { blobs, plan } = await scene(t)
  const { openFile: _, ...streaming } = blobs
  const whole = await collect(readArchive(plan, blobs))
  for (const [start, end, store] of [blobs, streaming].flatMap((each) => [
    [0, plan.length, each] as const,
    [0, 5, each] as const,
    [5, 20, each] as const,
    [262_143, 262_145, each] as const,
    [899_000, plan.length, each] as const,
    [plan.length - 5, plan.length, each] as const,
    [7, 7, each] as const,
  ])) {
    const copied: Buffer[] = []
    const write = async (bytes: Uint8Array) => {
      await turn()
      copied.push(Buffer.from(bytes))
    }
    await copyArchive(plan, store, { range: { start, end }, begin: () => write, signal })
    assert.ok(Buffer.concat(copied).equals(whole.subarray(start, end)), `${start} to ${end}`)
  }
})

test('a blob that is too short and a client that leaves both end the copy', async (t) => {
  const { root, blobs, segments, plan } = await scene(t)
  const range = { start: 0, end: plan.length }
  const leaving = () => Promise.reject(new Error('gone'))
  await assert.rejects(copyArchive(plan, blobs, { range, begin: () => leaving, signal }), /gone/)
  const { key } = segments[0]!
  await truncate(join(root, key.slice(0, 2), key), 500_000)
  let copied = 0
  const counting = async (bytes: Uint8Array) => {
    copied += bytes.length
  }
  await assert.rejects(
    copyArchive(plan, blobs, { range, begin: () => counting, signal }),
    /ends at byte 500000/,
  )
  assert.ok(copied <= 500_010)
})

for (const kind of ['files', 'streams']) {
  test(`nothing is written before the first bytes of the first segment were read: ${kind}`, async (t) => {
    const { root, blobs, segments, plan } = await scene(t)
    const { openFile: _, ...streaming } = blobs
    const store = kind === 'files' ? blobs : streaming
    const range = { start: 0, end: plan.length }
    let isBegun = false
    const begin = () => {
      isBegun = true
      return async () => {}
    }
    const { key } = segments[0]!
    await truncate(join(root, key.slice(0, 2), key), 0)
    await assert.rejects(copyArchive(plan, store, { range, begin, signal }))
    await blobs.delete(key)
    await assert.rejects(copyArchive(plan, store, { range, begin, signal }), BlobNotFound)
    assert.equal(isBegun, false)
  })
}

for (const kind of ['files', 'streams']) {
  test(`a missing segment breaks the copy after the segments before it: ${kind}`, async (t) => {
    const { blobs, segments, plan } = await scene(t)
    const { openFile: _, ...streaming } = blobs
    const store = kind === 'files' ? blobs : streaming
    await blobs.delete(segments[1]!.key)
    let copied = 0
    const counting = async (bytes: Uint8Array) => {
      copied += bytes.length
    }
    const range = { start: 0, end: plan.length }
    await assert.rejects(
      copyArchive(plan, store, { range, begin: () => counting, signal }),
      BlobNotFound,
    )
    assert.ok(copied >= segments[0]!.length && copied < plan.length, `${copied} bytes`)
  })
}

for (const kind of ['files', 'streams']) {
  test(`a segment with a flipped bit breaks the copy before its last bytes: ${kind}`, async (t) => {
    const { blobs, segments, plan } = await scene(t)
    const { openFile: _, ...streaming } = blobs
    const store = kind === 'files' ? blobs : streaming
    const [large, small] = segments as [(typeof segments)[0], (typeof segments)[0]]
    const [inLarge, afterLarge] = [10, 10 + large.length]
    const copy = async (start: number, end = plan.length) => {
      const verified: string[] = []
      let copied = 0
      const begin = () => async (bytes: Uint8Array) => {
        copied += bytes.length
      }
      const onVerified = (key: string) => verified.push(key)
      const range = { start, end }
      const ended = await copyArchive(plan, store, { range, begin, signal, onVerified }).catch(
        (error: unknown) => error,
      )
      return { ended, copied, verified }
    }
    assert.deepEqual((await copy(0)).verified, [large.key, small.key])
    await damageBlob(blobs, large.key, flipBit)
    for (const start of [0, inLarge]) {
      const { ended, copied, verified } = await copy(start)
      assert.ok(ended instanceof SegmentDamaged && ended.key === large.key, String(ended))
      assert.ok(copied < afterLarge - start, `${copied} bytes`)
      assert.deepEqual(verified, [])
    }
    // A segment that the range cuts is not verified; the following ones are.
    const { ended, copied, verified } = await copy(inLarge + 1)
    assert.deepEqual([ended, copied], [undefined, plan.length - inLarge - 1])
    assert.deepEqual(verified, [small.key])
    await damageBlob(blobs, small.key, flipBit)
    assert.ok((await copy(inLarge + 1)).ended instanceof SegmentDamaged)
  })
}
