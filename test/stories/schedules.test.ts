import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { clientDesk } from '../support/client-desk.ts'
import { onEachEngine } from '../support/databases.ts'
import { type FalseClock, falseClock, needsFalseClock } from '../support/false-clock.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/odd-repositories.ts'
import type { SharedService } from '../support/service.ts'
import { startInRow } from '../support/service-row.ts'
import { until } from '../support/wait-until.ts'
import { forTheWholeFile } from '../support/whole-file-cleanup.ts'

interface Run {
  id: number
  due_at: string | null
  migration_id: number | null
  state: string
  reason: string | null
  skipped_repositories: { full_name: string; reason: string }[]
  has_archive: boolean
}

interface Schedule {
  id: number
  url: string
  created_by: string
  repositories: string[]
  next_run_at: string | null
  paused: boolean
  paused_reason: string | null
  last_run: Run | null
}

const WEEKLY = {
  repositories: ['atlas', 'bob/notes'],
  every: 'week',
  weekday: 'sunday',
  at: '03:30',
  time_zone: 'Europe/Zurich',
}
const OWN = '/user/migrations/schedules'

async function makeHost(t: TestContext): Promise<GitHost> {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/atlas', { files: { a: '1' } })
  await host.repository('octo/kit', { files: { a: '1' } })
  await host.repository('bob/notes', {
    files: { a: '1' },
    config: { 'godwit.collaborator': 'alice:admin' },
  })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
  return host
}

/** Asks, and answers what came with that status. */
function asking(service: SharedService, token: string) {
  return async <T>(status: number, method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await service.call(token, path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    assert.equal(answer.status, status, `${method} ${path}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
}

const wholeFile = forTheWholeFile()
/** Three Sundays from now. */
let later: FalseClock

before(() => {
  later = falseClock(wholeFile)
  later.set(21 * 24)
})

onEachEngine('a schedule that missed its time', (engine) => {
  test('is made up for once, when the service is back', needsFalseClock, async (t) => {
    const host = await makeHost(t)
    const place = { repositories: host.root, engine, data: temporaryDirectory(t) }
    const first = await startInRow(t, place)
    const token = await first.token('alice', '--expires', '900d')
    const made = await asking(first, token)<Schedule>(201, 'POST', OWN, WEEKLY)
    assert.equal(new Date(made.next_run_at!).getUTCDay(), 0)
    await first.stop()
    await host.git(['config', '--unset', 'godwit.collaborator'], { dir: host.path('bob/notes') })

    const { databaseUrl } = first
    const again = { ...place, ...(databaseUrl && { databaseUrl }), env: later.env }
    const service = await startInRow(t, again)
    const ask = asking(service, token)
    const ended = await until(
      () => `the schedule has run:\n${service.log()}`,
      async () => {
        const { last_run } = await ask<Schedule>(200, 'GET', `${OWN}/${made.id}`)
        return last_run?.state === 'exported' && last_run
      },
    )
    assert.equal(ended.due_at, made.next_run_at)
    assert.deepEqual(ended.skipped_repositories, [
      { full_name: 'bob/notes', reason: 'it does not exist, or alice may no longer migrate it' },
    ])
    assert.deepEqual(await ask<Run[]>(200, 'GET', `${OWN}/${made.id}/runs`), [ended])
    const { next_run_at } = await ask<Schedule>(200, 'GET', `${OWN}/${made.id}`)
    const daysAhead = (Date.parse(next_run_at!) - Date.now()) / 86_400_000 - 21
    assert.ok(daysAhead > 0 && daysAhead <= 7.1, `${daysAhead} days ahead`)
    assert.match(service.log(), /"audit":"migration.start","schedule":1,"owner":"alice"/)
    const metrics = await (await fetch(`${service.url}/metrics`)).text()
    assert.match(metrics, /^godwit_schedules\{state="active"\} 1$/m)
    await service.stop()
  })
})

test('schedules by the API: whose they are, what they refuse, and that they stop', async (t) => {
  const { root } = await makeHost(t)
  const flags = ['--max-schedules', '2']
  const service = await startInRow(t, { repositories: root, flags })
  const [alice, bob] = [await service.token('alice'), await service.token('bob')]
  const ask = asking(service, alice)
  const made = await ask<Schedule>(201, 'POST', OWN, WEEKLY)
  assert.deepEqual(
    [made.url, made.created_by, made.repositories, made.paused, made.last_run],
    [`${service.url}${OWN}/1`, 'alice', ['alice/atlas', 'bob/notes'], false, null],
  )
  // Neither is taken for the other.
  await ask(404, 'GET', '/user/migrations/1')
  assert.deepEqual(await ask(200, 'GET', OWN), [made])

  const faults = async (body: object) => {
    const sent = await ask<{ message: string; errors: object[] }>(422, 'POST', OWN, body)
    assert.equal(sent.message, 'Validation Failed')
    return sent.errors
  }
  const fault = (field: string, code: string) => ({ resource: 'Schedule', field, code })
  const { repositories, ...timing } = WEEKLY
  assert.deepEqual(await faults(timing), [fault('repositories', 'missing_field')])
  assert.deepEqual(await faults({ ...WEEKLY, at: '24:00' }), [fault('at', 'invalid')])
  assert.deepEqual(await faults({ ...WEEKLY, every: 'month' }), [fault('every', 'invalid')])
  assert.deepEqual(await faults({ ...WEEKLY, keep: 0 }), [fault('keep', 'invalid')])
  assert.deepEqual(await faults({ ...WEEKLY, time_zone: '+01:00' }), [
    {
      ...fault('time_zone', 'custom'),
      message: '"+01:00" is not a time zone such as Europe/Zurich or UTC.',
    },
  ])
  assert.deepEqual(await faults({ ...WEEKLY, repositories: ['atlas', 'octo/none'] }), [
    { ...fault('repositories', 'missing'), index: 1 },
  ])
  assert.deepEqual(await ask(200, 'GET', OWN), [made])

  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/runs'],
    ['POST', '/runs'],
  ] as const) {
    await asking(service, bob)(404, method, `${OWN}/1${path}`, method === 'GET' ? undefined : {})
    await ask(404, method, `${OWN}/x${path}`, method === 'GET' ? undefined : {})
  }
  await asking(service, bob)(404, 'POST', '/orgs/octo/migrations/schedules', WEEKLY)
  const ofOcto = await ask<Schedule>(201, 'POST', '/orgs/octo/migrations/schedules', {
    ...WEEKLY,
    repositories: ['kit'],
  })
  assert.equal(ofOcto.url, `${service.url}/orgs/octo/migrations/schedules/2`)
  await ask(404, 'GET', `${OWN}/2`)
  await ask(201, 'POST', OWN, { ...WEEKLY, repositories })
  assert.match(JSON.stringify(await faults(WEEKLY)), /You already have 2 schedules, the maximum/)

  const daily = await ask<Schedule>(200, 'PATCH', `${OWN}/1`, { every: 'day', paused: true })
  assert.deepEqual([daily.paused, daily.next_run_at], [true, null])
  await ask(204, 'DELETE', `${OWN}/1`)
  await ask(404, 'DELETE', `${OWN}/1`)
  for (const act of ['schedule.create', 'schedule.update', 'schedule.delete'])
    await until(`${act} is logged`, () => service.log().includes(`"audit":"${act}"`))
})

test('schedules by the client', async (t) => {
  const { root: repositories } = await makeHost(t)
  const service = await startInRow(t, { repositories })
  const token = await service.token('alice')
  const { schedule } = await clientDesk(t, { url: service.url, token })
  assert.match((await schedule(2, 'add', 'atlas', '--at', '03:30')).err, /no period/)
  assert.match((await schedule(2, 'add', 'atlas', '--every', 'day')).err, /no time/)
  const timing = ['--every', 'week', '--weekday', 'sunday', '--at', '03:30']
  const zone = ['--time-zone', 'Europe/Zurich']
  const refused = await schedule(3, 'add', 'none', ...timing, ...zone)
  assert.match(refused.err, /none: this account may not migrate this repository/)
  assert.equal((await schedule(0, 'add', '--all', ...timing, ...zone, '--keep', '2')).out, '1')
  const listed = (await schedule(0, 'list')).out
  assert.match(listed, /^ID .*\n1 +2 +every sunday at 03:30 Europe\/Zurich +in \d+ days? +- +2$/)
  assert.equal((await schedule(0, 'run', '1')).out, '1')
  await until('migration 1 has ended', async () => {
    const { last_run } = JSON.parse((await schedule(0, 'show', '1', '--json')).out) as Schedule
    return last_run?.state === 'exported'
  })
  assert.match((await schedule(0, 'show', '1')).out, /\n {2}alice\/atlas\n[\s\S]*\n1 +exported /)
  assert.match((await schedule(0, 'pause', '1')).out, /^schedule 1 is paused$/)
  assert.match(
    (await schedule(0, 'show', '1')).out,
    /paused; resume it with `godwit schedule resume 1`/,
  )
  assert.match((await schedule(0, 'resume', '1')).out, /^schedule 1 runs next at 20/)
  const changed = await schedule(0, 'change', '1', '--every', 'day', '--at', '04:15')
  assert.match(changed.out, /^Schedule 1 runs every day at 04:15 Europe\/Zurich\./)

  const org = ['--org', 'octo']
  assert.equal((await schedule(0, 'add', 'kit', ...timing, ...org)).out, '2')
  assert.match((await schedule(0, 'list', ...org)).out, /\n2 +1 +every sunday/)
  assert.match((await schedule(3, 'show', '1', ...org)).err, /no schedule 1 for octo/)
  await schedule(0, 'remove', '1')
  assert.match((await schedule(3, 'remove', '1')).err, /`godwit schedule list` shows all/)
})
