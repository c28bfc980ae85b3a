import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { onEachEngine } from '../support/databases.ts'
import { fakeClock, needsFaketime } from '../support/fake-clock.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { gitHost } from '../support/git-host.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/wait-until.ts'

interface Run {
  due_at: string
  migration_id: number
  state: string
}

const DAYS = shortOrLong({ short: 4, long: 60 })
/** How often the moment of the kill moves once through the whole start. */
const DAYS_PER_SWEEP = 4

onEachEngine('a service with schedules that is killed', (engine) => {
  test('starts one migration for each due time', needsFaketime, async (t) => {
    const random = randomNumbers(seed)
    const host = await gitHost()
    t.after(host.remove)
    await host.repository('alice/atlas', { files: { a: '1' } })
    const clock = fakeClock(t)
    const options = { repositories: host.root, engine, env: clock.env }
    const service = await startService(t, options)
    let startTook = 1500
    const token = await service.token('alice', '--expires', '900d')
    const call = async (path: string, init?: RequestInit) => {
      const response = await service.call(token, `/user/migrations${path}`, init)
      assert.ok(response.ok, `${path}: ${response.status}`)
      return response.json()
    }
    // Half a day from now, so that no due time arrives during the test.
    const at = new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 16)
    const body = { repositories: ['atlas'], every: 'day', at, time_zone: 'UTC', keep: 2 }
    await call('/schedules', { method: 'POST', body: JSON.stringify(body) })
    const runs = async () => (await call('/schedules/1/runs?per_page=100')) as Run[]

    for (let day = 1; day <= DAYS; day++) {
      await service.kill('SIGKILL')
      clock.set(24 * day)
      // Due times are checked after the repository index was read: it is killed before, during or after that.
      const restarted = service.restart().catch(() => {})
      const moment = ((day % DAYS_PER_SWEEP) + random()) / DAYS_PER_SWEEP
      await pause(moment * 1.4 * startTook)
      await service.kill('SIGKILL')
      await restarted
      const began = performance.now()
      await service.restart()
      startTook = performance.now() - began
      await until(
        () => `day ${day} has a run (seed ${seed}):\n${service.log()}`,
        async () => (await runs()).length === day && (await runs())[0]!.state === 'exported',
      )
    }
    const all = await runs()
    assert.equal(new Set(all.map(({ due_at }) => due_at)).size, DAYS)
    const migrations = (await call('?per_page=100&exclude=repositories')) as { id: number }[]
    assert.deepEqual(
      migrations.map(({ id }) => id),
      all.map(({ migration_id }) => migration_id),
    )
    reportFault(
      t,
      'kill -9 of a service whose schedule is due',
      DAYS,
      'one migration for each due time',
    )
  })
})
