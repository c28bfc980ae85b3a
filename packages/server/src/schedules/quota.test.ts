import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../../../../test/support/databases.ts'
import { endOf, exportScene } from '../../../../test/support/export-scene.ts'
import { scheduleScene } from '../../../../test/support/schedule-scene.ts'
import { withTimeout } from '../../../../test/support/wait-until.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { sweepSegments } from '../exporter/blob-store-owner.ts'
import { deleteArchive } from '../migrations/archive-store.ts'
import { forecast } from '../migrations/forecast.ts'
import { DEFAULT_OPTIONS } from '../migrations/migration.ts'
import { ArchiveQuotaExceeded, readQuota, setQuota } from '../migrations/quota.ts'

const SITE = { 'alice/site': 'one' }
const LIMITS = { maxUnfinished: 9, lockTtlMs: 1 }

onEachEngine('the quota of archives', (engine) => {
  test('refuses a start that does not fit by its estimate, and names what could be deleted', async (t) => {
    const { db, dependencies, start, work } = await exportScene(t, SITE, engine)
    const alice = await ensureAccount(db, 'alice', 0)
    await start(['alice/site'])
    await work()
    const { used } = await readQuota(db, alice, undefined)
    assert.ok(used > 0)
    await db
      .updateTable('repositories')
      .set({ metadata: JSON.stringify({ ...(await metadataOf()), sizeKib: 4000 }) })
      .execute()
    const withoutSource = { ...dependencies, ...LIMITS, source: undefined }
    const request = { repositories: ['alice/site'], options: DEFAULT_OPTIONS }
    await setQuota(db, alice, 4_000_000)
    const { quota, warnings } = await forecast(withoutSource, { owner: alice }, request)
    assert.deepEqual(quota, { max: 4_000_000, used })
    assert.match(warnings.join(), /4\.0 MB in total, [\d.]+ kB used, 4\.1 MB needed/)
    dependencies.source = undefined as never
    await assert.rejects(start(['alice/site']), (error) => {
      assert.ok(error instanceof ArchiveQuotaExceeded)
      const [{ code, message } = {}] = error.errors
      assert.equal(code, 'custom')
      assert.match(
        message!,
        /^It does not fit into the quota .+ needed\. Delete .+: migration 1 \(/,
      )
      return true
    })
    const { length } = await db.selectFrom('migrations').select('id').execute()
    assert.equal(length, 1)

    // Without git data it is small. Infinity means none, null means the default of the service.
    await start(['alice/site'], { excludeGitData: true })
    await setQuota(db, alice, Number.POSITIVE_INFINITY)
    await start(['alice/site'])
    await setQuota(db, alice, null)
    await start(['alice/site'])
    Object.assign(dependencies, { maxArchiveBytes: 10 })
    await assert.rejects(start(['alice/site']), ArchiveQuotaExceeded)

    async function metadataOf() {
      const { metadata } = await db
        .selectFrom('repositories')
        .select('metadata')
        .executeTakeFirstOrThrow()
      return JSON.parse(metadata) as object
    }
  })

  test('fails an export that passes it, also if two end at the same time, and leaves nothing', async (t) => {
    const scene = await exportScene(t, SITE, engine)
    const { db, dependencies, start, work, keysInStore, blobs } = scene
    const alice = await ensureAccount(db, 'alice', 0)
    const [first, second] = [await start(['alice/site']), await start(['alice/site'])]
    // Neither is recorded before both have found that they fit.
    const both = Promise.withResolvers<void>()
    let fitting = 0
    const compose = async () => {
      if (++fitting === 2) both.resolve()
      await withTimeout('both archives fit', both.promise)
      return false
    }
    const composing = { ...blobs, compose } as typeof blobs
    await work({ maxArchiveBytes: 4000, blobs: composing, isComposed: true }, 2)
    const ends = [await endOf(db, first), await endOf(db, second)]
    assert.deepEqual(ends.map(({ state }) => state).sort(), ['exported', 'failed'])
    const failed = ends.find(({ state }) => state === 'failed')!
    assert.match(failed.reason!, /^It does not fit into the quota of archives: 4\.0 kB in total/)
    const exported = ends[0] === failed ? second : first
    await deleteArchive({ db, blobs, now: dependencies.now }, { owner: alice }, exported)
    assert.equal((await readQuota(db, alice, undefined)).used, 0)

    // Nothing is left of a migration that never fitted: its segments are not kept for a retry.
    scene.host.contents.set('alice/site', 'two')
    const third = await start(['alice/site'])
    await work({ maxArchiveBytes: 10 })
    assert.equal((await endOf(db, third)).state, 'failed')
    await sweepSegments({ ...dependencies, segmentTtlMs: 3_600_000 })
    const { length } = await db.selectFrom('segments').select('key').execute()
    assert.equal((await keysInStore()).length, length)
    const ofThird = await db
      .selectFrom('repository_exports')
      .innerJoin('segments', 'key', 'segment_key')
      .select('key')
      .where('migration_id', '=', third)
      .execute()
    assert.deepEqual(ofThird, [])
  })

  test('makes a schedule delete the archives that its next one replaces, but never the last copy', async (t) => {
    const scene = await scheduleScene(t, engine, '2026-06-01T12:00Z')
    const { db, octo, alice, dependencies } = scene
    const schedule = await scene.createSchedule({ keep: 2, repositories: ['alice/atlas'] })
    const archived = async () =>
      (await scene.migrations()).flatMap((row) => (row.archive_expires_at === null ? [] : row.id))
    const runNext = async () => {
      scene.clock.now = (await scene.reload(schedule)).nextRunAt
      await scene.runDue()
      await scene.runExports()
    }
    await runNext()
    await runNext()
    assert.deepEqual(await archived(), [1, 2])
    const { used } = await readQuota(db, alice, undefined)
    // There is room for two archives, but not for three.
    await setQuota(db, alice, used + 200)
    await runNext()
    assert.deepEqual(await archived(), [2, 3])
    const [entry] = await db
      .selectFrom('audit_log')
      .select(['actor', 'subject', 'owner_id'])
      .where('action', '=', 'migration.delete_archive')
      .execute()
    const expected = { actor: 'the service', subject: 'migration 1', owner_id: alice.id }
    assert.deepEqual({ ...entry }, expected)

    await setQuota(db, alice, 1)
    await runNext()
    assert.deepEqual(await archived(), [2, 3])
    const [last] = await scene.runs(schedule)
    assert.equal(last!.state, 'failed')
    assert.match(last!.reason!, /quota of archives.+Delete an archive.+migration 2/)
    assert.equal(
      (await readQuota(db, octo, dependencies.maxArchiveBytes)).max,
      Number.POSITIVE_INFINITY,
    )
  })
})
