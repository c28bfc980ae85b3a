import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../test/support/wait-until.ts'
import { exportScene } from '../exporter/export-test-scene.ts'
import { deleteArchive } from './delete-archive.ts'
import { migrationToExport } from './export-store.ts'
import { storageUse } from './storage-use.ts'

async function bytesInStore(blobs: Awaited<ReturnType<typeof exportScene>>['blobs']) {
  let bytes = 0
  for await (const { key } of blobs.list()) bytes += await blobs.size(key)
  return bytes
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`storage is what is really held, whatever shares it: ${engine}`, async (t) => {
    const scene = await exportScene(t, { 'alice/site': 'x'.repeat(5000) }, engine)
    const { db, blobs, parts, clock, start, work } = scene
    const use = storageUse(parts)
    const [first, second] = [await start(['alice/site']), await start(['alice/site'])]
    await work()
    const held = await bytesInStore(blobs)
    assert.deepEqual(await use(), { segments: 5, archives: 2, archiveBytes: held, reuseBytes: 0 })

    for (const id of [first, second]) {
      const { owner } = await migrationToExport(db, id)
      await deleteArchive(parts, { owner }, id)
    }
    clock.now += 120_000
    const left = await until('the bytes of both are gone', async () => {
      const bytes = await bytesInStore(blobs)
      return bytes < held && bytes === (await use()).reuseBytes && bytes
    })
    assert.deepEqual(await use(), { segments: 1, archives: 0, archiveBytes: 0, reuseBytes: left })
  })
}
