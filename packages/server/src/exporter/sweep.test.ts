import assert from 'node:assert/strict'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/archive-samples.ts'
import { type Engine, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { exportScene, outcomesByName, sweep } from '../../../../test/support/export-scene.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import { archiveSegments } from '../migrations/archive-store.ts'
import { migrationById } from '../migrations/export-store.ts'
import { claimBlobStore, ownerKey, storeOwnerProbe, sweepOrphans } from './blob-store-owner.ts'
import { sweepScratch } from './scratch.ts'
import { findMissingSegments } from './seal-archive.ts'

const REPOSITORIES = { 'alice/site': 'one', 'alice/blog': 'one' }
const HOUR = 3_600_000

/** Exports a migration of alice/site. */
async function scene(t: TestContext, engine?: Engine) {
  const exported = await exportScene(t, REPOSITORIES, engine)
  const { db, blobs, clock, start, work } = exported
  const id = await start(['alice/site'])
  await work()
  const dependencies = { db, blobs, now: () => clock.now, segmentTtlMs: HOUR }
  const advanceClock = (ms: number) => {
    clock.now += ms
  }
  return { ...exported, id, dependencies, advanceClock }
}

onEachEngine('the sweep', (engine, testOnSqlite) => {
  testOnSqlite('removes an expired archive, and its segments an hour later', async (t) => {
    const { db, id, dependencies, advanceClock, keysInStore } = await scene(t, engine)
    await sweep(dependencies)
    assert.equal((await keysInStore()).length, 3)
    advanceClock(60_000)
    await sweep(dependencies)
    assert.equal((await migrationById(db, id)).archiveExpiresAt, null)
    assert.equal((await keysInStore()).length, 1, 'the segment of the repository')
    advanceClock(HOUR + 1)
    await sweep(dependencies)
    assert.deepEqual(await keysInStore(), [])
    assert.deepEqual(await db.selectFrom('segments').select('key').execute(), [])
  })

  test('removes the rows of an archive and of a segment before their bytes', async (t) => {
    const { db, id, dependencies, blobs, advanceClock } = await scene(t, engine)
    const deleted: string[] = []
    const watched: typeof blobs = {
      ...blobs,
      async delete(key) {
        const row = db.selectFrom('segments').select('key').where('key', '=', key)
        assert.equal(await row.executeTakeFirst(), undefined)
        assert.equal((await migrationById(db, id)).archiveExpiresAt, null)
        deleted.push(key)
        await blobs.delete(key)
      },
    }
    advanceClock(60_000)
    await sweep({ ...dependencies, blobs: watched })
    assert.equal(deleted.length, 2, 'metadata and manifest')
    advanceClock(HOUR + 1)
    await sweep({ ...dependencies, blobs: watched })
    assert.equal(deleted.length, 3)
  })

  testOnSqlite('keeps the segments of a running migration', async (t) => {
    const { dependencies, advanceClock, host, start, work, archive } = await scene(t, engine)
    const id = await start(['alice/site', 'alice/blog'])
    host.onMake = async () => {
      advanceClock(2 * HOUR)
      await sweep(dependencies)
    }
    await work()
    const { files } = await archive(id)
    assert.equal(files.get('repositories/alice/site.git/HEAD'), 'one')
  })

  test('keeps a segment that is taken into use after it was listed', async (t) => {
    const { db, dependencies, advanceClock, blobs, start, work, archive } = await scene(t, engine)
    await start(['alice/blog'])
    await work()
    advanceClock(60_000)
    await sweep(dependencies)
    advanceClock(HOUR + 1)
    const deleted: string[] = []
    const names = ['alice/site', 'alice/blog']
    let id = 0
    const racing: typeof blobs = {
      ...blobs,
      async delete(key) {
        await blobs.delete(key)
        deleted.push(key)
        // The sweep has listed both. While it deletes the first, a migration reuses the other.
        id = await start(names)
        await work()
      },
    }
    await sweep({ ...dependencies, blobs: racing })
    assert.equal(deleted.length, 1)
    const outcomes = Object.values(await outcomesByName(db, id))
    assert.deepEqual(outcomes.toSorted(), ['exported', 'reused'])
    assert.equal((await archive(id)).manifest.repositories.length, 2)
  })

  test('removes old blobs without a row', async (t) => {
    const { db, id, dependencies, blobs, keysInStore } = await scene(t, engine)
    const referenced = await keysInStore()
    await blobs.put('orphan', [Buffer.from('orphan')])
    await db
      .updateTable('migrations')
      .set({ archive_key: 'composed' })
      .where('id', '=', id)
      .execute()
    await blobs.put('composed', [Buffer.from('archive')])
    await sweepOrphans({ ...dependencies, now: Date.now }, HOUR)
    assert.equal((await keysInStore()).length, referenced.length + 2)
    await sweepOrphans(dependencies, 0)
    assert.deepEqual(await keysInStore(), [...referenced, 'composed'].sort())
  })

  testOnSqlite('removes nothing from a store of another database', async (t) => {
    const { dependencies, keysInStore } = await scene(t, engine)
    await sweepOrphans(dependencies, 0)
    const there = await keysInStore()
    const { db } = await openDatabase(t, engine)
    await assert.rejects(sweepOrphans({ ...dependencies, db }, 0), {
      name: 'StoreOwnedByAnotherDatabase',
    })
    assert.deepEqual(await keysInStore(), there)
    await sweepOrphans(dependencies, 0)
  })

  testOnSqlite('lists a store that has the mark once', async (t) => {
    const { dependencies, blobs, keysInStore } = await scene(t, engine)
    let listed = 0
    const counting: typeof blobs = {
      ...blobs,
      async *list() {
        for await (const blob of blobs.list()) {
          listed++
          yield blob
        }
      },
    }
    await sweepOrphans({ ...dependencies, blobs: counting }, 0)
    assert.equal(listed, (await keysInStore()).length + 1, 'all and the mark')
  })

  testOnSqlite(
    'marks no empty store if segments are recorded, unless they are lost for good',
    async (t) => {
      const { db, dependencies } = await scene(t, engine)
      const empty = createDiskBlobStore(join(await temporaryFolder(t), 'blobs'))
      const missing = {
        name: 'StoreNotOwned',
        message: /^the store of archives is empty or another/,
      }
      await assert.rejects(sweepOrphans({ ...dependencies, blobs: empty }, 0), missing)
      await assert.rejects(storeOwnerProbe(db, empty)(), missing)
      assert.deepEqual(await Array.fromAsync(empty.list()), [])
      await claimBlobStore(db, empty, { isLost: true })
      await sweepOrphans({ ...dependencies, blobs: empty }, 0)
      await storeOwnerProbe(db, empty)()
    },
  )

  test('accepts the mark that another process of the database adds meanwhile', async (t) => {
    const { db, dependencies, blobs } = await scene(t, engine)
    const mark = await ownerKey(db)
    await blobs.delete(mark)
    const racing: typeof blobs = {
      ...blobs,
      async *list() {
        yield* blobs.list()
        await blobs.put(mark, []).catch(() => {})
        yield { key: mark, size: 0, modifiedAt: 0 }
      },
    }
    await sweepOrphans({ ...dependencies, blobs: racing }, 0)
  })
})

test('segments with missing or truncated bytes are lost', async (t) => {
  const { db, id, blobs } = await scene(t)
  const segments = await archiveSegments(db, { id })
  const { signal } = new AbortController()
  assert.deepEqual(await findMissingSegments(blobs, segments, signal), [])
  await blobs.delete(segments[0]!.key)
  const longer = { ...segments[1]!, length: segments[1]!.length + 1 }
  const missing = await findMissingSegments(blobs, [segments[0]!, longer, segments[2]!], signal)
  assert.deepEqual(missing.map(({ key }) => key).sort(), [segments[0]!.key, longer.key].sort())
  const broken = { ...blobs, size: () => Promise.reject(new Error('I/O error')) }
  await assert.rejects(findMissingSegments(broken, segments, signal), /I\/O error/)
})

test('old scratch directories are removed, and all of them with an age of 0', async (t) => {
  const scratch = join(await temporaryFolder(t), 'scratch')
  await sweepScratch(scratch, HOUR)
  for (const name of ['future', 'old', 'recent']) {
    await mkdir(join(scratch, name))
    await writeFile(join(scratch, name, 'pack'), 'bytes')
  }
  const now = Date.now() / 1000
  await utimes(join(scratch, 'old'), now, now - 7200)
  await utimes(join(scratch, 'future'), now, now + 7200)
  await sweepScratch(scratch, HOUR)
  assert.deepEqual((await readdir(scratch)).sort(), ['future', 'recent'])
  await sweepScratch(scratch, 0)
  assert.deepEqual(await readdir(scratch), [])
})
