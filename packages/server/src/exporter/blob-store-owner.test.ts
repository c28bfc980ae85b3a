import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { openDatabase } from '../../../../test/support/databases.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { StoreNotOwned, storeOwnerGuard } from './blob-store-owner.ts'

test('a job is postponed that finds another store after the check, and the next one checks again', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const blobs = createDiskBlobStore(join(await temporaryFolder(t), 'blobs'))
  let checks = 0
  const counted: typeof blobs = {
    ...blobs,
    size(key) {
      checks++
      return blobs.size(key)
    },
  }
  const guard = storeOwnerGuard(db, counted)
  const run = (work: () => Promise<void>) => guard(work)({} as never, {} as never)
  await Promise.all([run(async () => {}), run(async () => {})])
  assert.equal(checks, 1)
  const unmounted = run(() => Promise.reject(new StoreNotOwned()))
  await assert.rejects(unmounted, {
    name: 'RetryLater',
    message: /^the store of archives is empty/,
  })
  assert.equal(checks, 1)
  await run(async () => {})
  assert.equal(checks, 2)
  await assert.rejects(
    run(() => Promise.reject(new Error('another reason'))),
    /^Error: another/,
  )
})
