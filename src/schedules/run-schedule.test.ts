import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../test/support/databases.ts'
import { DAY, HOUR, type ScheduleScene, scheduleScene } from '../../test/support/schedule-scene.ts'
import { putMembership, removeMembership } from '../accounts/membership-store.ts'
import { addToken, revokeToken } from '../accounts/token-store.ts'
import { InvalidRequest, NotFound } from '../migrations/errors.ts'
import { changeSchedule, type ScheduleInput } from './change-schedule.ts'

const SINCE = '2026-06-01T12:00Z'

/** Whose time has come. */
async function dueScene(t: TestContext, engine: Engine) {
  const scene = await scheduleScene(t, engine, SINCE)
  const schedule = await scene.make({ repositories: ['atlas', 'bob/notes'] })
  scene.clock.now = schedule.nextRunAt
  return { ...scene, schedule }
}

const loseAccess = ({ db }: ScheduleScene, login: string) =>
  db.deleteFrom('collaborators').where('login_key', '=', login).execute()

onEachEngine('a schedule', (engine) => {
  test('runs once, however many processes try, and not before its time', async (t) => {
    const scene = await scheduleScene(t, engine, SINCE)
    const schedule = await scene.make()
    assert.equal(new Date(schedule.nextRunAt).toISOString(), '2026-06-02T00:30:00.000Z')
    scene.clock.now = schedule.nextRunAt - 60_000
    await scene.runDue()
    assert.deepEqual(await scene.runs(schedule), [])
    scene.clock.now = schedule.nextRunAt
    await Promise.all(Array.from({ length: 8 }, () => scene.runDue()))
    const [run, ...others] = await scene.runs(schedule)
    assert.deepEqual(others, [])
    assert.equal(run!.dueAt, schedule.nextRunAt)
    assert.equal((await scene.migrations()).length, 1)
    assert.equal((await scene.again(schedule)).nextRunAt, schedule.nextRunAt + DAY)
  })

  test('stays due if the start fails, without a partial write', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, parts } = scene
    const enqueue = async () => {
      throw new Error('no room in the queue')
    }
    await scene.runDue({ queue: { ...parts.queue, enqueue } })
    assert.deepEqual(await scene.runs(schedule), [])
    assert.deepEqual(await scene.migrations(), [])
    assert.deepEqual(await scene.again(schedule), schedule)
    assert.deepEqual(scene.logged, [`error: schedule ${schedule.id} could not run now`])
    await scene.runDue()
    assert.equal((await scene.migrations()).length, 1)
  })

  test('makes up for all missed times with one run', async (t) => {
    const scene = await dueScene(t, engine)
    scene.clock.now += 10 * DAY + 3 * HOUR
    await scene.runDue()
    await scene.export()
    await scene.runDue()
    assert.equal((await scene.runs(scene.schedule)).length, 1)
    const { nextRunAt } = await scene.again(scene.schedule)
    assert.equal(nextRunAt, scene.schedule.nextRunAt + 11 * DAY)
  })

  test('skips a run while the previous one has not ended, and records that', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock } = scene
    await scene.runDue()
    clock.now += DAY
    await scene.runDue()
    const [skipped] = await scene.runs(schedule)
    assert.deepEqual(
      [skipped!.state, skipped!.migrationId, skipped!.reason],
      ['skipped', null, 'migration 1 of this schedule has not ended'],
    )
    const now = scene.runNow(schedule)
    await assert.rejects(now, ({ faults }: InvalidRequest) => {
      assert.equal(faults[0]!.message, 'Migration 1 of this schedule has not ended.')
      return true
    })
    await scene.export()
    clock.now += DAY
    await scene.runDue()
    assert.deepEqual(
      (await scene.runs(schedule)).map(({ state, migrationId }) => [state, migrationId]),
      [
        ['pending', 2],
        ['skipped', null],
        ['exported', 1],
      ],
    )
  })

  test('runs once by request, without changing its next time', async (t) => {
    const scene = await scheduleScene(t, engine, SINCE)
    const schedule = await scene.make({ isPaused: true })
    const tries = await Promise.allSettled(Array.from({ length: 4 }, () => scene.runNow(schedule)))
    const [done, ...others] = tries.filter(({ status }) => status === 'fulfilled')
    assert.deepEqual(others, [])
    assert.deepEqual(done, { status: 'fulfilled', value: (await scene.runs(schedule))[0] })
    for (const each of tries)
      if (each.status === 'rejected') assert.ok(each.reason instanceof InvalidRequest)
    assert.deepEqual(
      (await scene.runs(schedule)).map(({ dueAt, state }) => [dueAt, state]),
      [[null, 'pending']],
    )
    assert.deepEqual(await scene.again(schedule), schedule)
  })

  test('skips repositories that its owner may no longer migrate, with a reason', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock, host } = scene
    await loseAccess(scene, 'alice')
    await scene.runDue()
    await scene.export()
    const [run] = await scene.runs(schedule)
    const reason = 'it does not exist, or alice may no longer migrate it'
    assert.deepEqual(run!.skipped, [{ fullName: 'bob/notes', reason }])
    assert.equal(run!.state, 'exported')
    assert.equal((await scene.migrations())[0]!.repository_count, 1)

    host.contents.delete('alice/atlas')
    // No archive holds any of them.
    await scene.db.updateTable('migrations').set({ archive_expires_at: null }).execute()
    clock.now += DAY
    await scene.runDue()
    const [failed] = await scene.runs(schedule)
    assert.deepEqual(
      [failed!.state, failed!.migrationId, failed!.reason, failed!.skipped.length],
      ['failed', null, 'alice may no longer migrate any of the repositories', 2],
    )
    assert.equal((await scene.again(schedule)).isPaused, false)
    const now = scene.runNow(schedule)
    await assert.rejects(now, InvalidRequest)
    assert.equal((await scene.runs(schedule)).length, 2)
  })

  test('is paused when every token of its maker is revoked, but not when they expire', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock, db, alice, parts } = scene
    const token = { name: '', expiresAt: clock.now - 1, now: 0 }
    await addToken(db, alice, token)
    await addToken(db, alice, token)
    await revokeToken(db, 1, clock.now)
    await scene.runDue()
    await scene.export()
    assert.equal((await scene.runs(schedule))[0]!.state, 'exported')
    await revokeToken(db, 2, clock.now)
    clock.now += DAY
    await scene.runDue()
    const stopped = await scene.again(schedule)
    assert.deepEqual(
      [stopped.isPaused, stopped.pausedReason],
      [true, 'every token of alice is revoked'],
    )
    clock.now += 9 * DAY
    await scene.runDue()
    assert.deepEqual(
      (await scene.runs(schedule)).map(({ state }) => state),
      ['failed', 'exported'],
    )
    await addToken(db, alice, { ...token, expiresAt: null })
    const asked = { options: {}, isPaused: false }
    const change = () =>
      changeSchedule({ ...parts, maxSchedules: 9 }, { owner: alice }, alice, schedule.id, asked)
    const resumed = await change()
    assert.deepEqual([resumed.isPaused, resumed.pausedReason], [false, null])
    // What was due while it was stopped is not made up for.
    assert.ok(resumed.nextRunAt > clock.now && resumed.nextRunAt <= clock.now + DAY)
    await db.deleteFrom('schedules').execute()
    await assert.rejects(change(), NotFound)
  })

  test('of an organization is paused when its maker is no longer an owner; another owner can resume it', async (t) => {
    const scene = await scheduleScene(t, engine, SINCE)
    const { octo, clock, db, alice, parts } = scene
    const bob = await scene.person('bob')
    for (const { id } of [alice, bob])
      await putMembership(db, octo, { accountId: id, role: 'owner' }, 'manual')
    const schedule = await scene.make({ repositories: ['kit'] }, { owner: octo })
    assert.deepEqual(schedule.repositories, ['octo/kit'])
    clock.now = schedule.nextRunAt
    await scene.runDue()
    await scene.export()
    assert.equal((await scene.runs(schedule))[0]!.state, 'exported')
    assert.equal((await scene.migrations())[0]!.owner_id, octo.id)

    await removeMembership(db, octo, alice, 'manual')
    clock.now += DAY
    await scene.runDue()
    const stopped = await scene.again(schedule)
    assert.equal(stopped.pausedReason, 'alice is no longer an owner of octo')
    // Another owner runs it by their own right, and in their own name.
    await scene.runNow(schedule, bob)
    await scene.export()
    const startedBy = async () => JSON.parse((await scene.migrations()).at(-1)!.started_by!).login
    assert.equal(await startedBy(), 'bob')
    const asked = { options: {}, isPaused: false }
    const all = { ...parts, maxSchedules: 9 }
    const resumed = await changeSchedule(all, { owner: octo }, bob, schedule.id, asked)
    assert.equal(resumed.maker.login, 'bob')
    clock.now = resumed.nextRunAt
    await scene.runDue()
    assert.equal((await scene.runs(schedule))[0]!.state, 'pending')
    assert.equal(await startedBy(), 'bob')
  })

  test('records the reason if the start is refused', async (t) => {
    const scene = await dueScene(t, engine)
    await scene.start(['alice/atlas'])
    await scene.runDue({ maxUnfinished: 1 })
    const [run] = await scene.runs(scene.schedule)
    assert.equal(run!.state, 'failed')
    assert.match(run!.reason!, /^You already have 1 unfinished migrations/)
  })

  test('does not run while it is paused, or if it is changed or deleted during the start', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock, db, parts, alice } = scene
    const all = { ...parts, maxSchedules: 9 }
    const change = (asked: object) =>
      changeSchedule(all, { owner: alice }, alice, schedule.id, { options: {}, ...asked })
    // Changed while the run looks at the repositories.
    const source = { ...parts.source! }
    source.find = async (...name) => {
      await change({ at: '05:00' })
      return parts.source!.find(...name)
    }
    await scene.runDue({ source })
    assert.deepEqual(await scene.migrations(), [])
    const changed = await scene.again(schedule)
    assert.equal(changed.nextRunAt, schedule.nextRunAt + 2.5 * HOUR)
    await change({ isPaused: true })
    clock.now += 3 * DAY
    await scene.runDue()
    await change({ isPaused: false })
    await scene.runDue()
    assert.deepEqual(await scene.migrations(), [])
    source.find = async (...name) => {
      await db.deleteFrom('schedules').execute()
      return parts.source!.find(...name)
    }
    clock.now += DAY
    await scene.runDue({ source })
    assert.deepEqual(await scene.migrations(), [])
  })

  test('does not run twice if it is changed while it starts', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, parts, alice } = scene
    const source = { ...parts.source! }
    source.find = async (...name) => {
      source.find = parts.source!.find
      await scene.runDue()
      return parts.source!.find(...name)
    }
    const asked = { options: {}, repositories: ['alice/birds'] }
    const all = { ...parts, source, maxSchedules: 9 }
    await changeSchedule(all, { owner: alice }, alice, schedule.id, asked)
    assert.equal((await scene.migrations()).length, 1)
    await scene.export()
    await scene.runDue()
    assert.equal((await scene.migrations()).length, 1)
  })

  test('names a missing repository if a change has no list of repositories', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, parts, alice } = scene
    await loseAccess(scene, 'alice')
    const refused = (asked: Partial<ScheduleInput>) => {
      const all = { ...parts, maxSchedules: 9 }
      const change = { options: { excludeMetadata: true }, ...asked }
      return changeSchedule(all, { owner: alice }, alice, schedule.id, change).then(
        () => assert.fail('it was changed'),
        ({ faults }: InvalidRequest) => faults,
      )
    }
    const [field, code, value] = ['repositories', 'missing', 'bob/notes']
    const message = 'bob/notes no longer exists, or may no longer be migrated.'
    assert.deepEqual(await refused({}), [{ field, code, value, message }])
    const repositories = ['bob/notes', 'atlas']
    assert.deepEqual(await refused({ repositories }), [{ field, code, index: 0 }])
  })

  test('never waits longer than its period after the clock was wrong, ahead or behind', async (t) => {
    const scene = await scheduleScene(t, engine, SINCE)
    const { clock } = scene
    const daily = await scene.make()
    const weekly = await scene.make({ every: 'week', weekday: 'friday' })
    const jumps = [HOUR, 14 * HOUR, DAY, 2 * DAY, 8.9 * DAY, 9.1 * DAY, 3000 * DAY]
    for (const jump of jumps.flatMap((each) => [each, -each])) {
      const now = Date.parse(SINCE)
      for (const at of [now + jump, now]) {
        clock.now = at
        await scene.runDue()
        await scene.export()
      }
      for (const { id, every } of [daily, weekly]) {
        const { nextRunAt } = await scene.again({ ...daily, id })
        const due = every === 'day' ? '2026-06-02T00:30Z' : '2026-06-05T00:30Z'
        assert.equal(nextRunAt, Date.parse(due), `${every}, wrong by ${jump / HOUR} hours`)
      }
    }
  })

  test('does not run twice if the clock is set back by seconds after a run', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock } = scene
    await scene.runDue()
    await scene.export()
    clock.now = schedule.nextRunAt - 22_000
    await scene.runDue()
    assert.equal((await scene.again(schedule)).nextRunAt, schedule.nextRunAt + DAY)
  })

  test('is refused beyond the maximum or with invalid settings, and nothing is written', async (t) => {
    const scene = await scheduleScene(t, engine, SINCE)
    const refused = (asked: Parameters<typeof scene.make>[0]) =>
      scene.make(asked).then(
        () => assert.fail('it was made'),
        (error: InvalidRequest) =>
          error.faults.map(({ field, code, index }) => ({ field, code, index })),
      )
    const fault = (field: string, code: string, index?: number) => ({ field, code, index })
    assert.deepEqual(await refused({ timeZone: 'Mars/Olympus' }), [fault('time_zone', 'custom')])
    assert.deepEqual(await refused({ every: 'week' }), [fault('weekday', 'missing_field')])
    assert.deepEqual(await refused({ weekday: 'monday' }), [fault('weekday', 'custom')])
    assert.deepEqual(await refused({ repositories: ['atlas', 'none'] }), [
      fault('repositories', 'missing', 1),
    ])
    assert.deepEqual(await refused({ repositories: [] }), [fault('repositories', 'missing_field')])
    assert.deepEqual(await scene.db.selectFrom('schedules').selectAll().execute(), [])
    const many = await Promise.allSettled(Array.from({ length: 6 }, () => scene.make()))
    assert.equal(many.filter(({ status }) => status === 'fulfilled').length, 3)
  })
})
