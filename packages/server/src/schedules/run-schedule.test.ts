import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import {
  DAY,
  HOUR,
  type ScheduleScene,
  scheduleScene,
} from '../../../../test/support/schedule-scene.ts'
import { InvalidRequest, NotFound } from '../../../lib/src/request-errors.ts'
import { putMembership, removeMembership } from '../accounts/membership-store.ts'
import { addToken, revokeToken } from '../accounts/token-store.ts'
import { fullNamesOf } from '../migrations/repository-list-store.ts'
import { changeSchedule, type ScheduleInput } from './change-schedule.ts'
import type { Schedule } from './schedule-store.ts'

const START = '2026-06-01T12:00Z'

/** Creates a schedule and sets the clock to the time of its next run. */
async function dueScene(t: TestContext, engine: Engine) {
  const scene = await scheduleScene(t, engine, START)
  const schedule = await scene.createSchedule({ repositories: ['atlas', 'bob/notes'] })
  scene.clock.now = schedule.nextRunAt
  return { ...scene, schedule }
}

/** Returns the repositories of the newest migration of the schedule. */
async function exportedNames({ db, runs }: ScheduleScene, schedule: Schedule): Promise<string[]> {
  const [run] = await runs(schedule)
  assert.equal(run!.state, 'exported')
  const { repository_count: repositoryCount, id } = await db
    .selectFrom('migrations')
    .selectAll()
    .where('id', '=', run!.migrationId!)
    .executeTakeFirstOrThrow()
  return fullNamesOf(db, { id, repositoryCount })
}

const loseAccess = ({ db }: ScheduleScene, login: string) =>
  db.deleteFrom('collaborators').where('login_key', '=', login).execute()

onEachEngine('a schedule', (engine, testOnSqlite) => {
  test('runs once when several processes try to run it, and not before it is due', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const schedule = await scene.createSchedule()
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
    assert.equal((await scene.reload(schedule)).nextRunAt, schedule.nextRunAt + DAY)
  })

  test('stays due if the migration cannot be started, and nothing is written', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, dependencies } = scene
    const enqueue = async () => {
      throw new Error('the queue is full')
    }
    await scene.runDue({ queue: { ...dependencies.queue, enqueue } })
    assert.deepEqual(await scene.runs(schedule), [])
    assert.deepEqual(await scene.migrations(), [])
    assert.deepEqual(await scene.reload(schedule), schedule)
    assert.deepEqual(scene.logged, [`error: schedule ${schedule.id} could not run now`])
    await scene.runDue()
    assert.equal((await scene.migrations()).length, 1)
  })

  testOnSqlite('runs only once after several missed runs', async (t) => {
    const scene = await dueScene(t, engine)
    scene.clock.now += 10 * DAY + 3 * HOUR
    await scene.runDue()
    await scene.runExports()
    await scene.runDue()
    assert.equal((await scene.runs(scene.schedule)).length, 1)
    const { nextRunAt } = await scene.reload(scene.schedule)
    assert.equal(nextRunAt, scene.schedule.nextRunAt + 11 * DAY)
  })

  testOnSqlite(
    'skips a run while the previous one has not ended, and records the skipped run',
    async (t) => {
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
      const manualRun = scene.runNow(schedule)
      await assert.rejects(manualRun, ({ errors }: InvalidRequest) => {
        assert.equal(errors[0]!.message, 'Migration 1 of this schedule has not ended.')
        return true
      })
      await scene.runExports()
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
    },
  )

  test('runs once for concurrent manual requests, even while paused, and keeps its next run time', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const schedule = await scene.createSchedule({ isPaused: true })
    const attempts = await Promise.allSettled(
      Array.from({ length: 4 }, () => scene.runNow(schedule)),
    )
    const [succeeded, ...others] = attempts.filter(({ status }) => status === 'fulfilled')
    assert.deepEqual(others, [])
    assert.deepEqual(succeeded, { status: 'fulfilled', value: (await scene.runs(schedule))[0] })
    for (const attempt of attempts)
      if (attempt.status === 'rejected') assert.ok(attempt.reason instanceof InvalidRequest)
    assert.deepEqual(
      (await scene.runs(schedule)).map(({ dueAt, state }) => [dueAt, state]),
      [[null, 'pending']],
    )
    assert.deepEqual(await scene.reload(schedule), schedule)
  })

  test('skips repositories that its owner may no longer migrate, with a reason', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock, host } = scene
    await loseAccess(scene, 'alice')
    await scene.runDue()
    await scene.runExports()
    const [run] = await scene.runs(schedule)
    const reason = 'it does not exist, or alice may no longer migrate it'
    assert.deepEqual(run!.skipped, [{ fullName: 'bob/notes', reason }])
    assert.equal(run!.state, 'exported')
    assert.equal((await scene.migrations())[0]!.repository_count, 1)

    host.contents.delete('alice/atlas')
    // Removes the archives. While an archive contains the repositories, the run starts a migration, which then fails.
    await scene.db.updateTable('migrations').set({ archive_expires_at: null }).execute()
    clock.now += DAY
    await scene.runDue()
    const [failed] = await scene.runs(schedule)
    assert.deepEqual(
      [failed!.state, failed!.migrationId, failed!.reason, failed!.skipped.length],
      ['failed', null, 'alice may no longer migrate any of the repositories', 2],
    )
    assert.equal((await scene.reload(schedule)).isPaused, false)
    await assert.rejects(scene.runNow(schedule), InvalidRequest)
    assert.equal((await scene.runs(schedule)).length, 2)
  })

  test('of all repositories includes new ones, and a removed one is no error', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const { host, clock, db, alice, octo } = scene
    await putMembership(db, octo, { accountId: alice.id, role: 'owner' }, 'manual')
    const all = { repositories: [], isForAll: true }
    const own = await scene.createSchedule({ ...all, name: 'nightly' })
    const ofOcto = await scene.createSchedule(all, { owner: octo })
    assert.deepEqual([own.isForAll, own.repositories], [true, []])

    host.contents.set('alice/new', '1')
    host.contents.set('octo/new', '1')
    await scene.sync()
    clock.now = own.nextRunAt
    await scene.runDue()
    await scene.runExports()
    assert.deepEqual(await exportedNames(scene, own), [
      ...['alice/atlas', 'alice/birds', 'alice/new', 'bob/notes'],
      // Its metadata names alice as a collaborator too.
      ...['octo/kit', 'octo/new'],
    ])
    assert.deepEqual(await exportedNames(scene, ofOcto), ['octo/kit', 'octo/new'])
    const ofAlice = (await scene.migrations()).find(({ owner_id }) => owner_id === alice.id)
    assert.equal(ofAlice!.name, 'nightly')

    // One is removed before the sync, the other one since.
    host.contents.delete('alice/birds')
    await scene.sync()
    host.contents.delete('alice/atlas')
    clock.now += DAY
    await scene.runDue()
    await scene.runExports()
    const [run] = await scene.runs(own)
    assert.deepEqual([run!.state, run!.reason, run!.skipped], ['exported', null, []])
    const names = await exportedNames(scene, own)
    assert.deepEqual(names, ['alice/new', 'bob/notes', 'octo/kit', 'octo/new'])
    assert.ok((await scene.migrations()).every((each) => each.skipped_count === 0))
  })

  test('of all repositories fails with a reason while there are none', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const carol = await scene.createAccount('carol')
    const input = { repositories: [], isForAll: true }
    const schedule = await scene.createSchedule(input, { owner: carol }, carol)
    scene.clock.now = schedule.nextRunAt
    await scene.db.deleteFrom('collaborators').execute()
    await scene.runDue()
    const [run] = await scene.runs(schedule)
    assert.deepEqual(
      [run!.state, run!.reason, run!.skipped],
      ['failed', 'carol has no repositories to migrate', []],
    )
  })

  testOnSqlite('can change between a list and all repositories, but not have both', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const { alice, dependencies } = scene
    const { id } = await scene.createSchedule({ repositories: ['atlas'] })
    const change = async (input: Omit<ScheduleInput, 'options'>) => {
      const asked = { ...input, options: {} }
      const limits = { ...dependencies, maxSchedules: 9 }
      const changed = await changeSchedule(limits, { owner: alice }, alice, id, asked)
      return [changed.isForAll, changed.repositories, changed.name]
    }
    assert.deepEqual(await change({ isForAll: true, name: 'all' }), [true, [], 'all'])
    assert.deepEqual(await change({ at: '04:00' }), [true, [], 'all'])
    for (const input of [{ isForAll: false }, { isForAll: true, repositories: ['atlas'] }])
      await assert.rejects(change(input), ({ errors }: InvalidRequest) => {
        assert.equal(errors[0]!.field, 'repositories')
        return true
      })
    const listed = await change({ repositories: ['birds'] })
    assert.deepEqual(listed, [false, ['alice/birds'], 'all'])
  })

  testOnSqlite(
    'is paused when all tokens of its account are revoked, but not when they expire',
    async (t) => {
      const scene = await dueScene(t, engine)
      const { schedule, clock, db, alice, dependencies } = scene
      const token = { name: '', expiresAt: clock.now - 1, now: 0 }
      await addToken(db, alice, token)
      await addToken(db, alice, token)
      await revokeToken(db, 1, clock.now)
      await scene.runDue()
      await scene.runExports()
      assert.equal((await scene.runs(schedule))[0]!.state, 'exported')
      await revokeToken(db, 2, clock.now)
      clock.now += DAY
      await scene.runDue()
      const paused = await scene.reload(schedule)
      assert.deepEqual(
        [paused.isPaused, paused.pausedReason],
        [true, 'every token of alice is revoked'],
      )
      clock.now += 9 * DAY
      await scene.runDue()
      assert.deepEqual(
        (await scene.runs(schedule)).map(({ state }) => state),
        ['failed', 'exported'],
      )
      await addToken(db, alice, { ...token, expiresAt: null })
      const input = { options: {}, isPaused: false }
      const change = () =>
        changeSchedule(
          { ...dependencies, maxSchedules: 9 },
          { owner: alice },
          alice,
          schedule.id,
          input,
        )
      const resumed = await change()
      assert.deepEqual([resumed.isPaused, resumed.pausedReason], [false, null])
      // Runs that were missed while it was paused are not made up for.
      assert.ok(resumed.nextRunAt > clock.now && resumed.nextRunAt <= clock.now + DAY)
      await db.deleteFrom('schedules').execute()
      await assert.rejects(change(), NotFound)
    },
  )

  test('of an organization is paused when its account is no longer an owner, and another owner can resume it', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const { octo, clock, db, alice, dependencies } = scene
    const bob = await scene.createAccount('bob')
    for (const { id } of [alice, bob])
      await putMembership(db, octo, { accountId: id, role: 'owner' }, 'manual')
    const schedule = await scene.createSchedule({ repositories: ['kit'] }, { owner: octo })
    assert.deepEqual(schedule.repositories, ['octo/kit'])
    clock.now = schedule.nextRunAt
    await scene.runDue()
    await scene.runExports()
    assert.equal((await scene.runs(schedule))[0]!.state, 'exported')
    assert.equal((await scene.migrations())[0]!.owner_id, octo.id)

    await removeMembership(db, octo, alice, 'manual')
    clock.now += DAY
    await scene.runDue()
    const paused = await scene.reload(schedule)
    assert.equal(paused.pausedReason, 'alice is no longer an owner of octo')
    // A manual run acts as the owner who requests it.
    await scene.runNow(schedule, bob)
    await scene.runExports()
    const startedBy = async () => JSON.parse((await scene.migrations()).at(-1)!.started_by!).login
    assert.equal(await startedBy(), 'bob')
    const input = { options: {}, isPaused: false }
    const changeDependencies = { ...dependencies, maxSchedules: 9 }
    const resumed = await changeSchedule(
      changeDependencies,
      { owner: octo },
      bob,
      schedule.id,
      input,
    )
    assert.equal(resumed.runsAs.login, 'bob')
    clock.now = resumed.nextRunAt
    await scene.runDue()
    assert.equal((await scene.runs(schedule))[0]!.state, 'pending')
    assert.equal(await startedBy(), 'bob')
  })

  testOnSqlite('records the reason if its migration may not be started', async (t) => {
    const scene = await dueScene(t, engine)
    await scene.start(['alice/atlas'])
    await scene.runDue({ maxUnfinished: 1 })
    const [run] = await scene.runs(scene.schedule)
    assert.equal(run!.state, 'failed')
    assert.match(run!.reason!, /^You already have 1 unfinished migrations/)
  })

  test('does not run while it is paused, or if it is changed or deleted while a run starts', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock, db, dependencies, alice } = scene
    const changeDependencies = { ...dependencies, maxSchedules: 9 }
    const change = (input: object) =>
      changeSchedule(changeDependencies, { owner: alice }, alice, schedule.id, {
        options: {},
        ...input,
      })
    // Changes the schedule while the run looks up the repositories.
    const source = { ...dependencies.source! }
    source.find = async (...name) => {
      await change({ at: '05:00' })
      return dependencies.source!.find(...name)
    }
    await scene.runDue({ source })
    assert.deepEqual(await scene.migrations(), [])
    const changed = await scene.reload(schedule)
    assert.equal(changed.nextRunAt, schedule.nextRunAt + 2.5 * HOUR)
    await change({ isPaused: true })
    clock.now += 3 * DAY
    await scene.runDue()
    await change({ isPaused: false })
    await scene.runDue()
    assert.deepEqual(await scene.migrations(), [])
    source.find = async (...name) => {
      await db.deleteFrom('schedules').execute()
      return dependencies.source!.find(...name)
    }
    clock.now += DAY
    await scene.runDue({ source })
    assert.deepEqual(await scene.migrations(), [])
  })

  test('does not run twice if a run starts during a change', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, dependencies, alice } = scene
    const source = { ...dependencies.source! }
    source.find = async (...name) => {
      source.find = dependencies.source!.find
      await scene.runDue()
      return dependencies.source!.find(...name)
    }
    const input = { options: {}, repositories: ['alice/birds'] }
    const changeDependencies = { ...dependencies, source, maxSchedules: 9 }
    await changeSchedule(changeDependencies, { owner: alice }, alice, schedule.id, input)
    assert.equal((await scene.migrations()).length, 1)
    await scene.runExports()
    await scene.runDue()
    assert.equal((await scene.migrations()).length, 1)
  })

  testOnSqlite(
    'names a missing repository in the error if a change does not list the repositories',
    async (t) => {
      const scene = await dueScene(t, engine)
      const { schedule, dependencies, alice } = scene
      await loseAccess(scene, 'alice')
      const errorsOf = (input: Partial<ScheduleInput>) => {
        const changeDependencies = { ...dependencies, maxSchedules: 9 }
        const change = { options: { excludeMetadata: true }, ...input }
        return changeSchedule(
          changeDependencies,
          { owner: alice },
          alice,
          schedule.id,
          change,
        ).then(
          () => assert.fail('the change was accepted'),
          ({ errors }: InvalidRequest) => errors,
        )
      }
      const [field, code, value] = ['repositories', 'missing', 'bob/notes']
      const message = 'bob/notes no longer exists, or may no longer be migrated.'
      assert.deepEqual(await errorsOf({}), [{ field, code, value, message }])
      const repositories = ['bob/notes', 'atlas']
      assert.deepEqual(await errorsOf({ repositories }), [{ field, code, index: 0 }])
    },
  )

  test('never waits longer than its period after a wrong clock, fast or slow, was corrected', async (t) => {
    const scene = await scheduleScene(t, engine, START)
    const { clock } = scene
    const daily = await scene.createSchedule()
    const weekly = await scene.createSchedule({ every: 'week', weekday: 'friday' })
    const jumps = [HOUR, 14 * HOUR, DAY, 2 * DAY, 8.9 * DAY, 9.1 * DAY, 3000 * DAY]
    for (const jump of jumps.flatMap((ms) => [ms, -ms])) {
      const now = Date.parse(START)
      for (const at of [now + jump, now]) {
        clock.now = at
        await scene.runDue()
        await scene.runExports()
      }
      for (const { id, every } of [daily, weekly]) {
        const { nextRunAt } = await scene.reload({ ...daily, id })
        const due = every === 'day' ? '2026-06-02T00:30Z' : '2026-06-05T00:30Z'
        assert.equal(
          nextRunAt,
          Date.parse(due),
          `every ${every}, clock wrong by ${jump / HOUR} hours`,
        )
      }
    }
  })

  testOnSqlite('does not run twice if the clock is set back by seconds after a run', async (t) => {
    const scene = await dueScene(t, engine)
    const { schedule, clock } = scene
    await scene.runDue()
    await scene.runExports()
    clock.now = schedule.nextRunAt - 22_000
    await scene.runDue()
    assert.equal((await scene.reload(schedule)).nextRunAt, schedule.nextRunAt + DAY)
  })

  testOnSqlite(
    'is rejected above the maximum number or with invalid settings, and nothing is written',
    async (t) => {
      const scene = await scheduleScene(t, engine, START)
      const errorsOf = (input: Parameters<typeof scene.createSchedule>[0]) =>
        scene.createSchedule(input).then(
          () => assert.fail('the schedule was created'),
          (error: InvalidRequest) =>
            error.errors.map(({ field, code, index }) => ({ field, code, index })),
        )
      const fault = (field: string, code: string, index?: number) => ({ field, code, index })
      assert.deepEqual(await errorsOf({ timeZone: 'Mars/Olympus' }), [fault('time_zone', 'custom')])
      assert.deepEqual(await errorsOf({ every: 'week' }), [fault('weekday', 'missing_field')])
      assert.deepEqual(await errorsOf({ weekday: 'monday' }), [fault('weekday', 'custom')])
      assert.deepEqual(await errorsOf({ repositories: ['atlas', 'none'] }), [
        fault('repositories', 'missing', 1),
      ])
      assert.deepEqual(await errorsOf({ repositories: [] }), [
        fault('repositories', 'missing_field'),
      ])
      assert.deepEqual(await scene.db.selectFrom('schedules').selectAll().execute(), [])
      const created = await Promise.allSettled(
        Array.from({ length: 6 }, () => scene.createSchedule()),
      )
      assert.equal(created.filter(({ status }) => status === 'fulfilled').length, 3)
    },
  )
})
