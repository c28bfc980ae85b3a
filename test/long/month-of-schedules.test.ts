import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSummary } from '../../packages/server/src/migrations/summaries.ts'
import { onEachEngine } from '../support/databases.ts'
import { DAY, HOUR, scheduleScene } from '../support/schedule-scene.ts'

const at = (moment: number | null) => new Date(moment!).toISOString().slice(0, 16)

onEachEngine('a month of schedules', (engine) => {
  test('runs at each due time once, reuses unchanged repositories, and keeps the last archives', async (t) => {
    const scene = await scheduleScene(t, engine, '2026-03-08T12:00Z')
    const { clock, db, alice } = scene
    const manual = await scene.start(['alice/atlas'])
    await scene.runExports()
    const daily = await scene.createSchedule({ keep: 3 })
    const weekly = await scene.createSchedule({
      every: 'week',
      weekday: 'sunday',
      at: '04:00',
      keep: 4,
    })
    assert.equal(at(daily.nextRunAt), '2026-03-09T01:30')

    const end = clock.now + 30 * DAY
    while (clock.now < end) {
      clock.now += 4 * HOUR
      if ((await countDue(scene.db, clock.now)) > 0) {
        await scene.runDue()
        await scene.runExports()
        await scene.runHousekeeping()
      }
    }
    assert.deepEqual(scene.errors, [])

    const days = (await scene.runs(daily)).toReversed()
    const expected = Array.from({ length: 30 }, (_, day) => {
      const date = at(Date.UTC(2026, 2, 9 + day)).slice(0, 10)
      // There is no 02:30 on the day that the clocks go forward, so it runs at 03:00.
      if (date === '2026-03-29') return `${date}T01:00`
      return date < '2026-03-29' ? `${date}T01:30` : `${date}T00:30`
    })
    assert.deepEqual(
      days.map(({ dueAt }) => at(dueAt)),
      expected,
    )
    const weeks = (await scene.runs(weekly)).toReversed()
    assert.deepEqual(
      weeks.map(({ dueAt }) => at(dueAt)),
      ['2026-03-15T03:00', '2026-03-22T03:00', '2026-03-29T02:00', '2026-04-05T02:00'],
    )
    assert.ok([...days, ...weeks].every(({ state }) => state === 'exported'))
    // Weekly archives outlive the usual seven days; of the daily ones the last three exist.
    assert.deepEqual(
      weeks.map(({ hasArchive }) => hasArchive),
      [true, true, true, true],
    )
    assert.deepEqual(
      days.map(({ hasArchive }) => hasArchive),
      [...Array(27).fill(false), true, true, true],
    )
    assert.equal((await findSummary(db, { owner: alice }, manual))!.archive, null)
    // One repository was exported by hand, the other by the first run.
    const reused = (await scene.migrations()).map(({ reused_count }) => reused_count)
    assert.deepEqual(reused, [0, 1, ...Array(33).fill(2)])
  })

  test('the archives of a deleted schedule expire like others', async (t) => {
    const scene = await scheduleScene(t, engine, '2026-06-01T00:00Z')
    const { clock, db } = scene
    const schedule = await scene.createSchedule()
    clock.now = schedule.nextRunAt
    await scene.runDue()
    await scene.runExports()
    clock.now += 60 * DAY
    await scene.runHousekeeping()
    const { hasArchive } = (await scene.runs(schedule))[0]!
    assert.equal(hasArchive, true, 'two months without housekeeping removed the archive')
    await db.deleteFrom('schedules').execute()
    for (const [days, exists] of [
      [6, true],
      [2, false],
    ] as const) {
      clock.now += days * DAY
      await scene.runHousekeeping()
      const archives = await db
        .selectFrom('migrations')
        .select('id')
        .where('archive_expires_at', 'is not', null)
        .execute()
      assert.equal(archives.length, Number(exists))
    }
  })

  test('a failed run never replaces the last good archive', async (t) => {
    const scene = await scheduleScene(t, engine, '2026-06-01T00:00Z')
    const schedule = await scene.createSchedule({ keep: 1 })
    const runAgain = async () => {
      scene.clock.now = (await scene.reload(schedule)).nextRunAt
      await scene.runDue()
      await scene.runExports()
      await scene.runHousekeeping()
    }
    await runAgain()
    const { host } = scene
    host.onRead = async () => {
      throw new Error('the disk is broken')
    }
    host.contents.set('alice/atlas', '2')
    await runAgain()
    await runAgain()
    const describeRun = ({ state, hasArchive }: Awaited<ReturnType<typeof scene.runs>>[number]) =>
      `${state}, archive ${hasArchive}`
    assert.deepEqual((await scene.runs(schedule)).map(describeRun), [
      'failed, archive false',
      'failed, archive false',
      'exported, archive true',
    ])
    host.onRead = async () => {}
    await runAgain()
    assert.deepEqual((await scene.runs(schedule)).map(describeRun), [
      'exported, archive true',
      'failed, archive false',
      'failed, archive false',
      'exported, archive false',
    ])
  })
})

async function countDue(db: Parameters<typeof findSummary>[0], now: number): Promise<number> {
  const rows = await db
    .selectFrom('schedules')
    .select('id')
    .where('next_run_at', '<=', now)
    .execute()
  return rows.length
}
