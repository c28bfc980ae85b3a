import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { damageBlob, flipBit, lengthen, truncate } from '../../../../test/support/damage-blob.ts'
import { type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import {
  assertExported,
  exportScene,
  outcomesByName,
  SEGMENT_CHECK_AGE_MS,
  sweep,
} from '../../../../test/support/export-scene.ts'
import { SegmentDamaged } from '../../../archive/src/tar/copy-archive.ts'
import type { BlobStore, ComposingStore } from '../blobs/blob-store.ts'
import {
  archiveSegments,
  damagedAmong,
  damagedArchives,
  damagedRepositoriesIn,
} from '../migrations/archive-store.ts'
import { migrationById } from '../migrations/export-store.ts'
import { readStoreChecks } from '../migrations/segment-check-store.ts'
import { isOwnerMark } from './blob-store-owner.ts'
import { checkStore, findReusable } from './check-segments.ts'

const TWO = { 'alice/site': 'the site', 'alice/blog': 'the blog' }
const NAMES = Object.keys(TWO)
const { signal } = new AbortController()

/** Exports two repositories, and returns the keys of their segments. */
async function scene(t: TestContext, engine: Engine) {
  const exported = await exportScene(t, TWO, engine)
  const { db, start, work, dependencies } = exported
  const first = await start(NAMES)
  await work()
  const [metadata, site, blog, manifest] = (await archiveSegments(db, { id: first })).map(
    ({ key }) => key,
  ) as [string, string, string, string]
  const keys = { metadata, site, blog, manifest }
  const migrate = async () => {
    const id = await start(NAMES)
    await work()
    await assertExported(db, id)
    return id
  }
  const check = (before: number, change: Partial<typeof dependencies> = {}) =>
    Array.fromAsync(checkStore({ ...dependencies, ...change }, { before }, signal))
  const damaged = async (id: number) => damagedRepositoriesIn(db, await migrationById(db, id))
  return { ...exported, first, keys, migrate, check, damaged }
}

onEachEngine('a segment that is reused', (engine, testOnSqlite) => {
  testOnSqlite(
    'is compared with its digest after a while, and exported again if it is wrong',
    async (t) => {
      const { db, blobs, clock, first, keys, migrate, archive, damaged, logged } = await scene(
        t,
        engine,
      )
      await damageBlob(blobs, keys.site, flipBit)
      clock.now += SEGMENT_CHECK_AGE_MS
      const second = await migrate()
      assert.deepEqual(await outcomesByName(db, second), {
        'alice/site': 'exported',
        'alice/blog': 'reused',
      })
      const { files } = await archive(second)
      assert.equal(files.get('repositories/alice/site.git/HEAD'), 'the site')
      await assert.rejects(archive(first), SegmentDamaged)
      assert.deepEqual(await damaged(first), ['alice/site'])
      assert.deepEqual(await damaged(second), [])
      assert.deepEqual([...(await damagedAmong(db, [first, second]))], [first])
      assert.ok(logged.some((line) => line.startsWith('error: stored data is damaged')))

      const third = await migrate()
      assert.deepEqual(await outcomesByName(db, third), {
        'alice/site': 'reused',
        'alice/blog': 'reused',
      })
      const { damaged: count, results } = await readStoreChecks(db)
      assert.equal(count, 1)
      assert.deepEqual(
        results.map(({ result, count }) => [result, count]).sort(),
        [
          ['damaged', 1],
          ['intact', 1],
        ],
        'each was read once',
      )
    },
  )

  for (const [what, change] of Object.entries({ truncate, lengthen, lose: undefined })) {
    testOnSqlite(`and has the wrong length is exported again: ${what}`, async (t) => {
      const { db, blobs, keys, migrate, archive } = await scene(t, engine)
      if (change) await damageBlob(blobs, keys.blog, change)
      else await blobs.delete(keys.blog)
      const id = await migrate()
      assert.deepEqual(await outcomesByName(db, id), {
        'alice/site': 'reused',
        'alice/blog': 'exported',
      })
      const { files } = await archive(id)
      assert.equal(files.get('repositories/alice/blog.git/HEAD'), 'the blog')
    })
  }

  testOnSqlite(
    'is not recorded as lost if the store is empty or belongs to another database',
    async (t) => {
      const { db, blobs, dependencies } = await scene(t, engine)
      for await (const { key } of blobs.list()) await blobs.delete(key)
      const found = findReusable(dependencies, 'alice/site the site', signal)
      await assert.rejects(found, /the store of archives is empty or another one/)
      assert.equal((await readStoreChecks(db)).damaged, 0)
    },
  )

  test('is damaged if the disk cannot read it', async (t) => {
    const { db, blobs, dependencies, clock, keys } = await scene(t, engine)
    const failing: BlobStore = {
      ...blobs,
      open: () => Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' })),
    }
    clock.now += SEGMENT_CHECK_AGE_MS
    await Array.fromAsync(
      checkStore({ ...dependencies, blobs: failing }, { before: clock.now }, signal),
    )
    assert.equal((await readStoreChecks(db)).damaged, Object.keys(keys).length)
  })
})

onEachEngine('a check of the store', (engine, testOnSqlite) => {
  testOnSqlite('starts with the oldest check and continues where it stopped', async (t) => {
    const { db, clock, dependencies, check, keys } = await scene(t, engine)
    const before = clock.now
    assert.deepEqual(await check(0), [])
    for await (const { result } of checkStore(dependencies, { before }, signal)) {
      assert.equal(result, 'intact')
      break
    }
    assert.equal((await check(before)).length, Object.keys(keys).length - 1)
    assert.deepEqual(await check(before), [])
    const { results, oldestAt } = await readStoreChecks(db)
    assert.equal(results.find(({ result }) => result === 'intact')?.count, 4)
    assert.ok(oldestAt! >= before)
  })

  test('lists archives with damaged data until they are repaired', async (t) => {
    const { db, clock, blobs, first, keys, check, migrate, damaged } = await scene(t, engine)
    const second = await migrate()
    const whole = await buffer(await blobs.open(keys.blog))
    for (const key of [keys.metadata, keys.blog]) await damageBlob(blobs, key, flipBit)
    const results = await check(clock.now)
    assert.equal(results.filter(({ result }) => result === 'damaged').length, 2)
    const own = 'the metadata of the archive'
    assert.deepEqual(await damagedArchives(db), [
      { migrationId: first, login: 'alice', damaged: ['alice/blog', own] },
      { migrationId: second, login: 'alice', damaged: ['alice/blog'] },
    ])
    await damageBlob(blobs, keys.blog, () => whole)
    await check(clock.now)
    assert.deepEqual(await damaged(first), [own])
    assert.deepEqual(await damaged(second), [])
  })

  test('makes the next migration export damaged data again, and the sweep remove it', async (t) => {
    const { db, clock, blobs, dependencies, first, keys, check, migrate, keysInStore } =
      await scene(t, engine)
    await damageBlob(blobs, keys.site, flipBit)
    await check(clock.now)
    const second = await migrate()
    assert.deepEqual(await outcomesByName(db, second), {
      'alice/site': 'exported',
      'alice/blog': 'reused',
    })
    const house = { ...dependencies, segmentTtlMs: 3_600_000 }
    await sweep(house)
    assert.ok((await keysInStore()).includes(keys.site), 'an archive still contains it')
    const expiry = { archive_expires_at: clock.now }
    await db.updateTable('migrations').set(expiry).where('id', '=', first).execute()
    await sweep(house)
    const left = await keysInStore()
    assert.ok(!left.includes(keys.site) && left.includes(keys.blog))
  })

  test('deletes a damaged composed archive', async (t) => {
    const { db, clock, blobs, dependencies, start, work } = await scene(t, engine)
    const bucket: BlobStore & ComposingStore = {
      ...blobs,
      async compose(key, composed) {
        const bytes = composed.map(async (part) =>
          'bytes' in part ? part.bytes : await buffer(await blobs.open(part.key)),
        )
        await blobs.put(key, await Promise.all(bytes))
        return true
      },
      presign: async () => '',
    }
    const id = await start(NAMES)
    await work({ blobs: bucket, isComposed: true })
    const archiveKey = async () => (await migrationById(db, id)).archiveKey
    const key = (await archiveKey())!
    const check = async () => {
      const checked = checkStore({ ...dependencies, blobs: bucket }, { before: clock.now }, signal)
      return (await Array.fromAsync(checked)).filter(({ result }) => result === 'damaged').length
    }
    assert.equal(await check(), 0)
    assert.equal(await archiveKey(), key)
    await damageBlob(blobs, key, flipBit)
    assert.equal(await check(), 1)
    assert.equal(await archiveKey(), null, 'downloads use the segments')
    const stored = await Array.fromAsync(blobs.list())
    assert.ok(
      !stored.some((blob) => blob.key === key) && stored.some((blob) => isOwnerMark(blob.key)),
    )
    assert.equal(await check(), 0)
  })
})
