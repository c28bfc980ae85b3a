import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import { outcomesByName } from '../../../../test/support/export-scene.ts'
import { DAY, scheduleScene } from '../../../../test/support/schedule-scene.ts'
import { NotFound } from '../../../lib/src/request-errors.ts'
import { putMembership, removeMembership } from '../accounts/membership-store.ts'
import { insertWebhook } from '../webhooks/webhook-store.ts'
import { changeSchedule, type ScheduleInput } from './change-schedule.ts'
import { protectedArchivesOf, releaseArchive } from './keep-archives.ts'
import type { Schedule } from './schedule-store.ts'

/** Creates a schedule of two repositories that keeps one archive, and a webhook that receives all events. */
async function retentionScene(t: TestContext, engine: Engine, input: Partial<ScheduleInput> = {}) {
  const scene = await scheduleScene(t, engine, '2026-06-01T12:00Z')
  const { db, alice, dependencies, blobs } = scene
  const schedule = await scene.createSchedule({ keep: 1, ...input })
  const webhook = { url: 'http://a.test', contentType: 'json', secret: null } as const
  await insertWebhook(db, { owner: alice }, { ...webhook, events: ['*'], isActive: true }, 0)
  return {
    ...{ ...scene, schedule },
    /** Runs the schedule at its next due time, then runs housekeeping. Returns the action of the last webhook event. */
    async runNext(target: Schedule = schedule): Promise<string | null> {
      scene.clock.now = (await scene.reload(target)).nextRunAt
      await scene.runDue()
      await scene.runExports()
      await scene.runHousekeeping()
      const events = await db.selectFrom('webhook_events').select('action').orderBy('id').execute()
      return events.at(-1)!.action
    },
    /** Returns the ids of the migrations that have an archive, oldest first. */
    archives: async () =>
      (await scene.migrations()).flatMap((row) => (row.archive_expires_at === null ? [] : row.id)),
    /** Returns the id of each migration with a protected archive, and the repositories that it is protected for. */
    protectedArchives: async () =>
      (await protectedArchivesOf(db, [schedule.id]))
        .get(schedule.id)!
        .map(({ migrationId, repositories }) => [migrationId, ...repositories]),
    change: (input: Partial<ScheduleInput>) => {
      const changeDependencies = { ...dependencies, maxSchedules: 9 }
      return changeSchedule(changeDependencies, { owner: alice }, alice, schedule.id, {
        options: {},
        ...input,
      })
    },
    release: (id: number) =>
      releaseArchive({ ...dependencies, blobs }, schedule, id, async () => {}),
  }
}

onEachEngine('retention', (engine, testOnSqlite) => {
  testOnSqlite(
    'keeps the last archive that contains a deleted repository, until a newer archive contains it',
    async (t) => {
      const scene = await retentionScene(t, engine)
      const { host, db } = scene
      assert.equal(await scene.runNext(), 'exported')
      host.contents.delete('alice/birds')
      assert.equal(await scene.runNext(), 'partial')
      const reason = 'it no longer exists, or may no longer be migrated'
      const outcomes = { 'alice/atlas': 'reused', 'alice/birds': `skipped: ${reason}` }
      assert.deepEqual(await outcomesByName(db, 2), outcomes)
      assert.equal(await scene.runNext(), 'partial')
      assert.deepEqual(await scene.archives(), [1, 3])
      assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds']])
      const { files } = await scene.archive(1)
      assert.equal(files.get('repositories/alice/birds.git/HEAD'), '1')

      host.contents.set('alice/birds', '2')
      assert.equal(await scene.runNext(), 'exported')
      assert.deepEqual(await scene.archives(), [4])
      assert.deepEqual(await scene.protectedArchives(), [])
      assert.deepEqual(scene.errors, [])
    },
  )

  test('does not let a protected archive expire', async (t) => {
    const scene = await retentionScene(t, engine)
    await scene.runNext()
    scene.host.contents.delete('alice/birds')
    await scene.runNext()
    scene.clock.now += 60 * DAY
    await scene.runHousekeeping()
    assert.deepEqual(await scene.archives(), [1, 2])
  })

  testOnSqlite('ignores a newer archive that skips the repository', async (t) => {
    const scene = await retentionScene(t, engine, { options: { allowPartial: true } })
    await scene.runNext()
    scene.host.contents.set('alice/birds', 'broken')
    scene.host.onMake = async () => {
      throw new Error('the disk is broken')
    }
    assert.equal(await scene.runNext(), 'partial')
    assert.deepEqual(await scene.archives(), [1, 2])
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds']])
  })

  testOnSqlite('ignores a newer archive without the git data of the repository', async (t) => {
    const scene = await retentionScene(t, engine)
    await scene.runNext()
    await scene.change({ options: { excludeGitData: true } })
    assert.equal(await scene.runNext(), 'exported')
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/atlas', 'alice/birds']])
    assert.equal(await scene.runNext(), 'exported')
    assert.deepEqual(await scene.archives(), [1, 3])
    await scene.change({ options: { excludeGitData: false } })
    await scene.runNext()
    assert.deepEqual(await scene.archives(), [4])
  })

  test('protects an archive with the last copy of a repository, until the archive is released', async (t) => {
    const scene = await retentionScene(t, engine, {
      repositories: ['alice/atlas', 'alice/birds', 'bob/notes'],
    })
    await scene.runNext()
    scene.host.contents.delete('bob/notes')
    await scene.runNext()
    scene.host.contents.delete('alice/birds')
    await scene.runNext()
    assert.deepEqual(await scene.protectedArchives(), [
      [2, 'alice/birds'],
      [1, 'bob/notes'],
    ])
    const unscheduled = await scene.start(['alice/atlas'])
    await scene.runExports()
    for (const id of [3, unscheduled, 99]) await assert.rejects(scene.release(id), NotFound)
    await scene.release(2)
    // Archive 1 is now the last one that contains either repository.
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds', 'bob/notes']])
    await scene.release(1)
    await assert.rejects(scene.release(1), NotFound)
    assert.deepEqual(await scene.archives(), [3, unscheduled])
    assert.equal(
      await scene.runNext(),
      'exported',
      'not partial: no archive contains the deleted repositories any more',
    )
    assert.deepEqual((await scene.runs(scene.schedule))[0]!.skipped.length, 2)
  })

  testOnSqlite(
    'reports a run as partial even while `keep` alone still retains the last copy',
    async (t) => {
      const scene = await retentionScene(t, engine, { keep: 3 })
      await scene.runNext()
      scene.host.contents.delete('alice/birds')
      for (let run = 2; run <= 5; run++) assert.equal(await scene.runNext(), 'partial')
      assert.deepEqual(await scene.archives(), [1, 3, 4, 5])
    },
  )

  testOnSqlite(
    'protects repositories removed from the schedule, and does not report later runs as partial',
    async (t) => {
      const scene = await retentionScene(t, engine)
      await scene.runNext()
      await scene.change({ repositories: ['alice/atlas'] })
      assert.equal(await scene.runNext(), 'exported')
      assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds']])
    },
  )

  testOnSqlite(
    'starts a migration that fails if no repository is left, and rejects a manual run',
    async (t) => {
      const scene = await retentionScene(t, engine)
      await scene.runNext()
      scene.host.contents.clear()
      assert.equal(await scene.runNext(), 'failed')
      const [failed] = await scene.runs(scene.schedule)
      assert.match(failed!.reason!, /^alice\/atlas: it no longer exists/)
      await assert.rejects(scene.runNow(scene.schedule), { name: 'InvalidRequest' })
      assert.deepEqual(await scene.archives(), [1])
    },
  )

  test('keeps the archives of a paused schedule of an organization, but not those of a person', async (t) => {
    const scene = await retentionScene(t, engine)
    const { db, octo, alice, clock } = scene
    await putMembership(db, octo, { accountId: alice.id, role: 'owner' }, 'manual')
    const octoSchedule = await scene.createSchedule(
      { repositories: ['kit'], keep: 1 },
      { owner: octo },
    )
    await scene.runNext(octoSchedule)
    assert.equal((await scene.archives()).length, 2)
    await removeMembership(db, octo, alice, 'manual')
    clock.now += DAY
    await scene.runDue()
    assert.match((await scene.reload(octoSchedule)).pausedReason!, /no longer an owner/)
    await db
      .updateTable('schedules')
      .set({ paused_reason: 'alice is suspended', paused_at: 1 })
      .execute()
    for (const days of [4, 4, 30]) {
      clock.now += days * DAY
      await scene.runHousekeeping()
    }
    const kept = (await scene.migrations()).filter((row) => row.archive_expires_at !== null)
    assert.deepEqual(
      kept.map(({ owner_id }) => owner_id),
      [octo.id],
    )
  })
})
