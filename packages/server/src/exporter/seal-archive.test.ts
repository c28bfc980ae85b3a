import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onSqlite } from '../../../../test/support/databases.ts'
import {
  assertExported,
  endOf,
  exportScene,
  outcomesByName,
} from '../../../../test/support/export-scene.ts'
import { readArchive } from '../../../archive/src/tar/copy-archive.ts'
import { planArchive } from '../../../archive/src/tar/plan-archive.ts'
import { readEntries } from '../../../archive/src/tar/read-entries.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import type { BlobStore, ComposingStore } from '../blobs/blob-store.ts'
import { BlobsUnavailable } from '../blobs/blob-store.ts'
import type { Db } from '../db/database.ts'
import { archiveSegments, dropArchive } from '../migrations/archive-store.ts'
import { migrationById } from '../migrations/export-store.ts'
import { findSummary } from '../migrations/summaries.ts'
import { withName } from './seal-archive.ts'

const TWO = { 'alice/site': 'one', 'alice/blog': 'two' }
const NAMES = Object.keys(TWO)

onSqlite('an archive', (engine) => {
  test('has the metadata first, then the repositories, and the manifest last', async (t) => {
    const { db, start, work, archive } = await exportScene(t, TWO, engine)
    const id = await start(NAMES)
    await work()
    await assertExported(db, id)
    const { files, manifest } = await archive(id)
    assert.deepEqual(
      [...files.keys()],
      [
        'schema.json',
        'users_000001.json',
        'repositories_000001.json',
        'repositories/alice/site.git/HEAD',
        'repositories/alice/blog.git/HEAD',
        'godwit-manifest.json',
      ],
    )
    assert.deepEqual([manifest.generator, manifest.skipped], ['godwit test', []])
    assert.equal(files.get('repositories/alice/blog.git/HEAD'), 'two')
  })

  test('has metadata with the time of the migration', async (t) => {
    const { db, blobs, clock, start, work } = await exportScene(t, TWO, engine)
    const id = await start(NAMES)
    clock.now += 3_600_000
    await work()
    const { createdAt } = await migrationById(db, id)
    const plan = planArchive(await archiveSegments(db, { id }))
    const times = new Set<number>()
    for await (const { path, modifiedAt } of readEntries(readArchive(plan, blobs)))
      if (!/^repositories\/.+\//.test(path)) times.add(modifiedAt)
    assert.deepEqual([...times], [Math.floor(createdAt / 1000) * 1000])
  })

  test('fails with the name of a failed repository, and the other segments are kept', async (t) => {
    const { db, host, start, work, keysInStore } = await exportScene(t, TWO, engine)
    host.onMake = async (fullName) => {
      if (fullName === 'alice/blog') throw new Unreadable('alice/blog: it is damaged')
    }
    const id = await start(NAMES)
    await work()
    const end = { state: 'failed', reason: 'alice/blog: it is damaged' }
    assert.deepEqual(await endOf(db, id), end)
    const ends = { 'alice/site': 'exported', 'alice/blog': 'failed: it is damaged' }
    assert.deepEqual(await outcomesByName(db, id), ends)
    assert.deepEqual(await countsOf(db, id), { exported: 1, reused: 0, skipped: 0, failed: 1 })
    assert.deepEqual(await archiveSegments(db, { id }), [])
    assert.equal((await keysInStore()).length, 1)
  })
})

test('an archive whose segments the database lost is not reported as deleted', async (t) => {
  const { db, start, work } = await exportScene(t, TWO)
  const id = await start(NAMES)
  await work()
  const [, site] = await archiveSegments(db, { id })
  await db.deleteFrom('segments').where('key', '=', site!.key).execute()
  await assert.rejects(archiveSegments(db, { id }), /lacks segments of the archive of migration/)
  await db.transaction().execute((tx) => dropArchive(tx, id, 0))
  assert.deepEqual(await archiveSegments(db, { id }), [])
})

test('a failed migration releases its locks', async (t) => {
  const { host, start, work } = await exportScene(t, TWO)
  host.onMake = () => Promise.reject(new Unreadable('alice/site: it is damaged'))
  await start(NAMES, { lockRepositories: true })
  assert.deepEqual([...host.locked].sort(), NAMES.toSorted())
  await work()
  assert.deepEqual([...host.locked], [])
})

async function countsOf(db: Db, id: number) {
  const { owner } = await migrationById(db, id)
  const { exported, reused, skipped, failed } = (await findSummary(db, { owner }, id))!.repositories
  return { exported, reused, skipped, failed }
}

onSqlite('a partial archive', (engine) => {
  test('fails if all repositories were skipped', async (t) => {
    const { db, host, start, work, keysInStore } = await exportScene(t, TWO, engine)
    host.onMake = (fullName) => Promise.reject(new Unreadable(`${fullName}: it is damaged`))
    const id = await start(NAMES, { allowPartial: true })
    await work()
    const reason = 'alice/site: it is damaged\nalice/blog: it is damaged'
    assert.deepEqual(await endOf(db, id), { state: 'failed', reason })
    assert.deepEqual(
      Object.values(await outcomesByName(db, id)),
      Array(2).fill('failed: it is damaged'),
    )
    assert.deepEqual(await countsOf(db, id), { exported: 0, reused: 0, skipped: 0, failed: 2 })
    assert.deepEqual(await keysInStore(), [])
  })

  test('leaves out skipped repositories', async (t) => {
    const { db, host, start, work } = await exportScene(t, TWO, engine)
    host.onMake = async (fullName) => {
      if (fullName === 'alice/blog') throw new Unreadable('alice/blog: it is damaged')
    }
    const id = await start(NAMES, { allowPartial: true })
    await work()
    await assertExported(db, id)
    const ends = { 'alice/site': 'exported', 'alice/blog': 'skipped: it is damaged' }
    assert.deepEqual(await outcomesByName(db, id), ends)
    assert.deepEqual(await countsOf(db, id), { exported: 1, reused: 0, skipped: 1, failed: 0 })
  })
})

test('lost segments fail the migration, and a retry exports them again', async (t) => {
  const { db, blobs, clock, host, start, work } = await exportScene(t, TWO)
  const first = await start(NAMES)
  await work()
  const [, site] = await archiveSegments(db, { id: first })
  host.contents.set('alice/blog', 'another')
  host.onMake = async () => {
    clock.now += 120_000
    await blobs.delete(site!.key)
  }
  const second = await start(NAMES)
  await work()
  host.onMake = async () => {}
  const missing = 'its exported data was lost; retry the migration to export it again'
  assert.deepEqual(await endOf(db, second), { state: 'failed', reason: `alice/site: ${missing}` })
  const ends = { 'alice/site': `failed: ${missing}`, 'alice/blog': 'exported' }
  assert.deepEqual(await outcomesByName(db, second), ends)
  assert.deepEqual(await countsOf(db, second), { exported: 1, reused: 0, skipped: 0, failed: 1 })
  const third = await start(NAMES)
  await work()
  await assertExported(db, third)
  const outcomes = { 'alice/site': 'exported', 'alice/blog': 'reused' }
  assert.deepEqual(await outcomesByName(db, third), outcomes)
})

test('an archive whose metadata could not be written is not recorded, and sealing is retried', async (t) => {
  const { db, blobs, start, work } = await exportScene(t, TWO)
  const id = await start(NAMES)
  let refusals = 0
  const failing: BlobStore = {
    ...blobs,
    async put(key, bytes, options) {
      refusals += 1
      assert.equal((await endOf(db, id)).state, 'exporting')
      assert.deepEqual(await archiveSegments(db, { id }), [])
      if (refusals < 4) throw new BlobsUnavailable('the bucket does not respond')
      return blobs.put(key, bytes, options)
    },
  }
  await work({ blobs: failing })
  await assertExported(db, id)
})

test('an archive is also stored as one object if that is enabled and the store accepts it', async (t) => {
  const { db, blobs, start, work } = await exportScene(t, TWO)
  const composed = new Map<string, number>()
  const bucket: BlobStore & ComposingStore = {
    ...blobs,
    async size(key) {
      return composed.get(key) ?? blobs.size(key)
    },
    async compose(key, parts) {
      composed.set(
        key,
        parts.reduce((sum, { length }) => sum + length, 0),
      )
      return true
    },
    presign: () => Promise.reject(new Error('not used')),
  }
  const id = await start(NAMES)
  await work({ blobs: bucket, isComposed: true })
  const { archiveKey } = await migrationById(db, id)
  assert.deepEqual([...composed.keys()], [archiveKey])

  for (const options of [
    { blobs: bucket, isComposed: false },
    { blobs: { ...bucket, compose: async () => false }, isComposed: true },
  ]) {
    const notComposed = await start(NAMES)
    await work(options)
    assert.equal((await migrationById(db, notComposed)).archiveKey, null)
  }
})

test('a reason has the name of the repository once', () => {
  assert.equal(withName('a/b', 'it is damaged'), 'a/b: it is damaged')
  assert.equal(withName('a/b', 'a/b.wiki: it is damaged'), 'a/b.wiki: it is damaged')
})
