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
} from '../../test/support/archive-samples.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { copyArchive } from './copy-archive.ts'
import { planArchive } from './plan-archive.ts'
import { readArchive } from './read-archive.ts'

async function scene(t: TestContext) {
  const root = await temporaryFolder(t)
  const blobs = createDiskBlobStore(root)
  const large = [file('a.pack', noise(900_000), true)]
  const segments = await storeSegments(blobs, [large, [file('b.pack', noise(1000), true)]])
  return { root, blobs, segments, plan: planArchive(segments) }
}

test('what is copied is what is read, whole and in ranges', async (t) => {
  const { blobs, plan } = await scene(t)
  const whole = await collect(readArchive(plan, blobs))
  for (const [start, end] of [
    [0, plan.length],
    [5, 20],
    [262_143, 262_145],
    [899_000, plan.length],
    [7, 7],
  ] as const) {
    const copied: Buffer[] = []
    await copyArchive(plan, blobs, { start, end }, async (bytes) => {
      await turn()
      copied.push(Buffer.from(bytes))
    })
    assert.ok(Buffer.concat(copied).equals(whole.subarray(start, end)), `${start} to ${end}`)
  }
})

test('a blob that falls short and a reader who leaves both end it', async (t) => {
  const { root, blobs, segments, plan } = await scene(t)
  const range = { start: 0, end: plan.length }
  const leaving = () => Promise.reject(new Error('gone'))
  await assert.rejects(copyArchive(plan, blobs, range, leaving), /gone/)
  const { key } = segments[0]!
  await truncate(join(root, key.slice(0, 2), key), 500_000)
  let copied = 0
  const counting = async (bytes: Uint8Array) => {
    copied += bytes.length
  }
  await assert.rejects(copyArchive(plan, blobs, range, counting), /ends at 500000/)
  assert.ok(copied <= 500_010)
})
