import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../../../../test/support/databases.ts'
import { exportScene } from '../../../../test/support/export-scene.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import { deleteArchive } from './archive-store.ts'
import { countMigrations, listMigrations, sweepHistory } from './migration-store.ts'

const DAY = 24 * 3_600_000

onEachEngine('the history of migrations', (engine) => {
  test('is deleted when it is old and no longer needed', async (t) => {
    const scene = await exportScene(t, { 'alice/site': 'one', 'alice/blog': 'one' }, engine)
    const { db, clock, dependencies, start, work } = scene
    const history = { db, now: () => clock.now, migrationHistoryMs: 30 * DAY }
    const names = ['alice/site', 'alice/blog']
    const removed = await start(names)
    const reused = await start(names)
    const archived = await start(names)
    const ofSchedule = await start(names)
    const locked = await start(names, { lockRepositories: true })
    await work()
    const unfinished = await start(names)
    const owner = await ensureAccount(db, 'alice', 0)
    const scope = { owner }
    for (const id of [removed, reused, ofSchedule, locked])
      await deleteArchive(dependencies, scope, id)
    await addRun(db, owner.id, ofSchedule)

    clock.now += 29 * DAY
    assert.equal(await sweepHistory(history), 0)
    clock.now += 2 * DAY
    assert.equal(await sweepHistory({ ...history, migrationHistoryMs: 0 }), 0)
    assert.equal(await sweepHistory(history), 2)
    assert.equal(await sweepHistory(history), 0)

    const listed = await listMigrations(db, scope, { offset: 0, limit: 10 })
    const kept = [unfinished, locked, ofSchedule, archived]
    assert.deepEqual(
      listed.map(({ id }) => id),
      kept,
    )
    assert.equal(await countMigrations(db, scope), 4)
    for (const table of [
      'repository_lists',
      'repository_exports',
      'reused_repositories',
    ] as const) {
      const rows = await db.selectFrom(table).select('migration_id').distinct().execute()
      for (const { migration_id } of rows) assert.ok(kept.includes(migration_id), table)
    }
  })
})

/** Lists the migration as a run of a schedule. */
async function addRun(db: Db, owner_id: number, migration_id: number): Promise<void> {
  const { id } = await db
    .insertInto('schedules')
    .values({
      ...{ owner_id, runs_as_id: owner_id, all_repositories: 0, repositories: '[]' },
      ...{ options: '{}', every: 'day' },
      ...{ weekday: null, at: '00:00', time_zone: 'UTC', keep: 1, next_run_at: 0 },
      ...{ paused_at: null, paused_reason: null, created_at: 0, updated_at: 0 },
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('schedule_runs')
    .values({
      ...{ schedule_id: id, due_at: 0, created_at: 0, migration_id, outcome: 'started' },
      ...{ reason: null, skipped: '[]' },
    })
    .execute()
}
