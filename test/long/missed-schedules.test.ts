import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine } from '../support/databases.ts'
import { type FakeClock, fakeClock, needsFaketime } from '../support/fake-clock.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import {
  jsonClient,
  makeHost,
  OWN,
  type Run,
  type Schedule,
  WEEKLY,
} from '../support/schedule-story.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const fileCleanup = cleanupAfterFile()
/** A clock three Sundays ahead. */
let later: FakeClock

before(() => {
  later = fakeClock(fileCleanup)
  later.set(21 * 24)
})

onEachEngine('a schedule that missed its time', (engine) => {
  test('is run once when the service is back', needsFaketime, async (t) => {
    const host = await makeHost(t)
    const options = { repositories: host.root, engine, data: temporaryDirectory(t) }
    const first = await startSharedService(t, options)
    const token = await first.token('alice', '--expires', '900d')
    const made = await jsonClient(first, token)<Schedule>(201, 'POST', OWN, WEEKLY)
    assert.equal(new Date(made.next_run_at!).getUTCDay(), 0)
    await first.stop()
    await host.git(['config', '--unset', 'godwit.collaborator'], { dir: host.path('bob/notes') })

    const { databaseUrl } = first
    const laterOptions = { ...options, ...(databaseUrl && { databaseUrl }), env: later.env }
    const service = await startSharedService(t, laterOptions)
    const request = jsonClient(service, token)
    const ended = await until(
      () => `the schedule has run:\n${service.log()}`,
      async () => {
        const { last_run } = await request<Schedule>(200, 'GET', `${OWN}/${made.id}`)
        return last_run?.state === 'exported' && last_run
      },
    )
    assert.equal(ended.due_at, made.next_run_at)
    assert.deepEqual(ended.skipped_repositories, [
      { full_name: 'bob/notes', reason: 'it does not exist, or alice may no longer migrate it' },
    ])
    assert.deepEqual(await request<Run[]>(200, 'GET', `${OWN}/${made.id}/runs`), [ended])
    const { next_run_at } = await request<Schedule>(200, 'GET', `${OWN}/${made.id}`)
    const daysAhead = (Date.parse(next_run_at!) - Date.now()) / 86_400_000 - 21
    assert.ok(daysAhead > 0 && daysAhead <= 7.1, `${daysAhead} days ahead`)
    assert.match(service.log(), /"audit":"migration.start","schedule":1,"login":"alice"/)
    const metrics = await (await fetch(`${service.url}/metrics`)).text()
    assert.match(metrics, /^godwit_schedules\{state="active"\} 1$/m)
    await service.stop()
  })
})
