import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../test/support/databases.ts'
import { endsOf } from '../../test/support/export-scene.ts'
import { DAY, scheduleScene } from '../../test/support/schedule-scene.ts'
import { putMembership, removeMembership } from '../accounts/membership-store.ts'
import { NotFound } from '../migrations/errors.ts'
import { insertWebhook } from '../webhooks/webhook-store.ts'
import { changeSchedule, type ScheduleInput } from './change-schedule.ts'
import { protectedArchivesOf, releaseArchive } from './keep-archives.ts'
import type { Schedule } from './schedule.ts'

/** A schedule of two repositories that keeps one archive. */
async function keepScene(t: TestContext, engine: Engine, asked: Partial<ScheduleInput> = {}) {
  const scene = await scheduleScene(t, engine, '2026-06-01T12:00Z')
  const { db, alice, parts, blobs } = scene
  const schedule = await scene.make({ keep: 1, ...asked })
  const webhook = { url: 'http://a.test', contentType: 'json', secret: null } as const
  await insertWebhook(db, { owner: alice }, { ...webhook, events: ['*'], isActive: true }, 0)
  return {
    ...{ ...scene, schedule },
    /** Runs the schedule at its next time, and does what housekeeping does after it. Returns what webhooks are told. */
    async runAgain(of: Schedule = schedule): Promise<string | null> {
      scene.clock.now = (await scene.again(of)).nextRunAt
      await scene.runDue()
      await scene.export()
      await scene.housekeeping()
      const events = await db.selectFrom('webhook_events').select('action').orderBy('id').execute()
      return events.at(-1)!.action
    },
    /** The migrations that have an archive, oldest first. */
    archives: async () =>
      (await scene.migrations()).flatMap((row) => (row.archive_expires_at === null ? [] : row.id)),
    protectedArchives: async () =>
      (await protectedArchivesOf(db, [schedule.id]))
        .get(schedule.id)!
        .map(({ migrationId, repositories }) => [migrationId, ...repositories]),
    change: (more: Partial<ScheduleInput>) => {
      const all = { ...parts, maxSchedules: 9 }
      return changeSchedule(all, { owner: alice }, alice, schedule.id, { options: {}, ...more })
    },
    release: (id: number) => releaseArchive({ ...parts, blobs }, schedule, id, () => {}),
  }
}

onEachEngine('retention', (engine) => {
  test('keeps the last archive with a repository that was deleted, until a newer archive has it', async (t) => {
    const scene = await keepScene(t, engine)
    const { host, db } = scene
    assert.equal(await scene.runAgain(), 'exported')
    host.contents.delete('alice/birds')
    assert.equal(await scene.runAgain(), 'partial')
    const reason = 'it no longer exists, or may no longer be migrated'
    const ends = { 'alice/atlas': 'reused', 'alice/birds': `skipped: ${reason}` }
    assert.deepEqual(await endsOf(db, 2), ends)
    assert.equal(await scene.runAgain(), 'partial')
    assert.deepEqual(await scene.archives(), [1, 3])
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds']])
    const { files } = await scene.archive(1)
    assert.equal(files.get('repositories/alice/birds.git/HEAD'), '1')

    host.contents.set('alice/birds', '2')
    assert.equal(await scene.runAgain(), 'exported')
    assert.deepEqual(await scene.archives(), [4])
    assert.deepEqual(await scene.protectedArchives(), [])
    assert.deepEqual(scene.errors, [])
  })

  test('does not let a protected archive expire', async (t) => {
    const scene = await keepScene(t, engine)
    await scene.runAgain()
    scene.host.contents.delete('alice/birds')
    await scene.runAgain()
    scene.clock.now += 60 * DAY
    await scene.housekeeping()
    assert.deepEqual(await scene.archives(), [1, 2])
  })

  test('ignores a newer archive that skips the repository', async (t) => {
    const scene = await keepScene(t, engine, { options: { allowPartial: true } })
    await scene.runAgain()
    scene.host.contents.set('alice/birds', 'broken')
    scene.host.onMake = async () => {
      throw new Error('the disk is broken')
    }
    assert.equal(await scene.runAgain(), 'partial')
    assert.deepEqual(await scene.archives(), [1, 2])
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds']])
  })

  test('ignores a newer archive without the git data of the repository', async (t) => {
    const scene = await keepScene(t, engine)
    await scene.runAgain()
    await scene.change({ options: { excludeGitData: true } })
    assert.equal(await scene.runAgain(), 'exported')
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/atlas', 'alice/birds']])
    assert.equal(await scene.runAgain(), 'exported')
    assert.deepEqual(await scene.archives(), [1, 3])
    await scene.change({ options: { excludeGitData: false } })
    await scene.runAgain()
    assert.deepEqual(await scene.archives(), [4])
  })

  test('protects an archive with the only copy of a repository, until it is released', async (t) => {
    const scene = await keepScene(t, engine, {
      repositories: ['alice/atlas', 'alice/birds', 'bob/notes'],
    })
    await scene.runAgain()
    scene.host.contents.delete('bob/notes')
    await scene.runAgain()
    scene.host.contents.delete('alice/birds')
    await scene.runAgain()
    assert.deepEqual(await scene.protectedArchives(), [
      [2, 'alice/birds'],
      [1, 'bob/notes'],
    ])
    const byHand = await scene.start(['alice/atlas'])
    await scene.export()
    for (const id of [3, byHand, 99]) await assert.rejects(scene.release(id), NotFound)
    await scene.release(2)
    // Of both, that is the last copy now.
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds', 'bob/notes']])
    await scene.release(1)
    await assert.rejects(scene.release(1), NotFound)
    assert.deepEqual(await scene.archives(), [3, byHand])
    assert.equal(await scene.runAgain(), 'exported', 'no archive holds what is gone')
    assert.deepEqual((await scene.runs(scene.schedule))[0]!.skipped.length, 2)
  })

  test('reports a partial run also while its archive is within the number to keep', async (t) => {
    const scene = await keepScene(t, engine, { keep: 3 })
    await scene.runAgain()
    scene.host.contents.delete('alice/birds')
    for (const end of ['partial', 'partial', 'partial', 'partial'])
      assert.equal(await scene.runAgain(), end)
    assert.deepEqual(await scene.archives(), [1, 3, 4, 5])
  })

  test('protects repositories removed from the schedule, and does not report later runs as partial', async (t) => {
    const scene = await keepScene(t, engine)
    await scene.runAgain()
    await scene.change({ repositories: ['alice/atlas'] })
    assert.equal(await scene.runAgain(), 'exported')
    assert.deepEqual(await scene.protectedArchives(), [[1, 'alice/birds']])
  })

  test('starts a failing migration if no repository is left, and refuses a run by request', async (t) => {
    const scene = await keepScene(t, engine)
    await scene.runAgain()
    scene.host.contents.clear()
    assert.equal(await scene.runAgain(), 'failed')
    const [failed] = await scene.runs(scene.schedule)
    assert.match(failed!.reason!, /^alice\/atlas: it no longer exists/)
    await assert.rejects(scene.runNow(scene.schedule), { name: 'InvalidRequest' })
    assert.deepEqual(await scene.archives(), [1])
  })

  test('keeps the archives of a paused schedule of an organization; those of a person expire', async (t) => {
    const scene = await keepScene(t, engine)
    const { db, octo, alice, clock } = scene
    await putMembership(db, octo, { accountId: alice.id, role: 'owner' }, 'manual')
    const ofOcto = await scene.make({ repositories: ['kit'], keep: 1 }, { owner: octo })
    await scene.runAgain(ofOcto)
    assert.equal((await scene.archives()).length, 2)
    await removeMembership(db, octo, alice, 'manual')
    clock.now += DAY
    await scene.runDue()
    assert.match((await scene.again(ofOcto)).pausedReason!, /no longer an owner/)
    await db.updateTable('schedules').set({ paused_reason: 'gone', paused_at: 1 }).execute()
    for (const days of [4, 4, 30]) {
      clock.now += days * DAY
      await scene.housekeeping()
    }
    const kept = (await scene.migrations()).filter((row) => row.archive_expires_at !== null)
    assert.deepEqual(
      kept.map(({ owner_id }) => owner_id),
      [octo.id],
    )
  })
})
