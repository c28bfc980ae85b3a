import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { clientCommandLine } from '../support/client-command-line.ts'
import { jsonClient, makeHost, OWN, type Schedule, WEEKLY } from '../support/schedule-story.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

test('schedules in the API belong to their account, validate their input, and stop', async (t) => {
  const { root } = await makeHost(t)
  const flags = ['--max-schedules', '2']
  const service = await startSharedService(t, { repositories: root, flags })
  const [alice, bob] = [await service.token('alice'), await service.token('bob')]
  const request = jsonClient(service, alice)
  const made = await request<Schedule>(201, 'POST', OWN, WEEKLY)
  assert.deepEqual(
    [made.url, made.created_by, made.repositories, made.paused, made.last_run],
    [`${service.url}${OWN}/1`, 'alice', ['alice/atlas', 'bob/notes'], false, null],
  )
  // Schedules of a user and of an organization do not mix.
  await request(404, 'GET', '/user/migrations/1')
  assert.deepEqual(await request(200, 'GET', OWN), [made])

  const validationErrors = async (body: object) => {
    const sent = await request<{ message: string; errors: object[] }>(422, 'POST', OWN, body)
    assert.equal(sent.message, 'Validation Failed')
    return sent.errors
  }
  const fieldError = (field: string, code: string) => ({ resource: 'Schedule', field, code })
  const { repositories, ...timing } = WEEKLY
  assert.deepEqual(await validationErrors(timing), [fieldError('repositories', 'missing_field')])
  const both = 'With `all`, do not list repositories.'
  assert.deepEqual(await validationErrors({ ...WEEKLY, all: true }), [
    { ...fieldError('repositories', 'custom'), message: both },
  ])
  assert.deepEqual(await validationErrors({ ...WEEKLY, name: 'a\nb' }), [
    fieldError('name', 'invalid'),
  ])
  assert.deepEqual(await validationErrors({ ...WEEKLY, at: '24:00' }), [
    fieldError('at', 'invalid'),
  ])
  assert.deepEqual(await validationErrors({ ...WEEKLY, every: 'month' }), [
    fieldError('every', 'invalid'),
  ])
  assert.deepEqual(await validationErrors({ ...WEEKLY, keep: 0 }), [fieldError('keep', 'invalid')])
  assert.deepEqual(await validationErrors({ ...WEEKLY, time_zone: '+01:00' }), [
    {
      ...fieldError('time_zone', 'custom'),
      message: '"+01:00" is not a time zone such as Europe/Zurich or UTC.',
    },
  ])
  assert.deepEqual(await validationErrors({ ...WEEKLY, repositories: ['atlas', 'octo/none'] }), [
    { ...fieldError('repositories', 'missing'), index: 1 },
  ])
  assert.deepEqual(await request(200, 'GET', OWN), [made])

  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/runs'],
    ['POST', '/runs'],
  ] as const) {
    await jsonClient(service, bob)(
      404,
      method,
      `${OWN}/1${path}`,
      method === 'GET' ? undefined : {},
    )
    await request(404, method, `${OWN}/x${path}`, method === 'GET' ? undefined : {})
  }
  await jsonClient(service, bob)(404, 'POST', '/orgs/octo/migrations/schedules', WEEKLY)
  const ofOcto = await request<Schedule>(201, 'POST', '/orgs/octo/migrations/schedules', {
    ...WEEKLY,
    repositories: ['kit'],
  })
  assert.equal(ofOcto.url, `${service.url}/orgs/octo/migrations/schedules/2`)
  await request(404, 'GET', `${OWN}/2`)
  await request(201, 'POST', OWN, { ...WEEKLY, repositories })
  assert.match(
    JSON.stringify(await validationErrors(WEEKLY)),
    /You already have 2 schedules, the maximum/,
  )

  const daily = await request<Schedule>(200, 'PATCH', `${OWN}/1`, { every: 'day', paused: true })
  assert.deepEqual([daily.paused, daily.next_run_at], [true, null])
  const ofAll = await request<Schedule>(200, 'PATCH', `${OWN}/1`, { all: true, name: ' Backup ' })
  assert.deepEqual([ofAll.all, ofAll.repositories, ofAll.name], [true, [], 'Backup'])
  await request(204, 'DELETE', `${OWN}/1`)
  await request(404, 'DELETE', `${OWN}/1`)
  for (const action of ['schedule.create', 'schedule.update', 'schedule.delete'])
    await until(`${action} is logged`, () => service.log().includes(`"audit":"${action}"`))
})

test('the client creates, runs, changes and removes schedules', async (t) => {
  const { root: repositories } = await makeHost(t)
  const service = await startSharedService(t, { repositories })
  const token = await service.token('alice')
  const { schedule } = await clientCommandLine(t, { url: service.url, token })
  assert.match((await schedule(2, 'add', 'atlas', '--at', '03:30')).err, /no period/)
  assert.match((await schedule(2, 'add', 'atlas', '--every', 'day')).err, /no time/)
  const timing = ['--every', 'week', '--weekday', 'sunday', '--at', '03:30']
  const zone = ['--time-zone', 'Europe/Zurich']
  const refused = await schedule(3, 'add', 'none', ...timing, ...zone)
  assert.match(refused.err, /none: this account may not migrate this repository/)
  assert.equal((await schedule(0, 'add', '--all', ...timing, ...zone, '--keep', '2')).out, '1')
  const listed = (await schedule(0, 'list')).out
  assert.match(
    listed,
    /^ID .*\n1 +all +every sunday at 03:30 Europe\/Zurich +(in .+|tomorrow) +- +2$/,
  )
  assert.equal((await schedule(0, 'run', '1')).out, '1')
  await until('migration 1 has ended', async () => {
    const { last_run } = JSON.parse((await schedule(0, 'show', '1', '--json')).out) as Schedule
    return last_run?.state === 'exported'
  })
  assert.match(
    (await schedule(0, 'show', '1')).out,
    /\nrepositories {2}all repositories of alice, including future ones\n[\s\S]*\n1 +exported /,
  )
  assert.match((await schedule(0, 'pause', '1')).out, /^schedule 1 paused$/)
  assert.match(
    (await schedule(0, 'show', '1')).out,
    /paused; resume it with `godwit schedule resume 1`/,
  )
  assert.match((await schedule(0, 'resume', '1')).out, /^schedule 1 resumed; it runs next at 20/)
  const changed = await schedule(0, 'edit', '1', '--every', 'day', '--at', '04:15')
  assert.match(changed.out, /^Schedule 1 runs every day at 04:15 Europe\/Zurich\./)

  const org = ['--org', 'octo']
  const named = ['--name', 'weekly kit']
  assert.equal((await schedule(0, 'add', 'kit', ...timing, ...org, ...named)).out, '2')
  assert.match((await schedule(0, 'list', ...org)).out, /\n2 +1 +every sunday .* weekly kit$/)
  const all = await schedule(0, 'edit', '2', '--all', ...org)
  assert.match(
    all.out,
    /\nname +weekly kit\n[\s\S]*all repositories of octo, including future ones/,
  )
  assert.match((await schedule(3, 'show', '1', ...org)).err, /no schedule 1 for octo/)
  await schedule(0, 'remove', '1')
  assert.match((await schedule(3, 'remove', '1')).err, /`godwit schedule list` shows all/)
})

test('the last archive that holds a repository is kept until it is released', async (t) => {
  const { root: repositories, path } = await makeHost(t)
  const service = await startSharedService(t, { repositories })
  const [token, bob] = [await service.token('alice'), await service.token('bob')]
  const { schedule, migration } = await clientCommandLine(t, { url: service.url, token })
  const timing = ['--every', 'day', '--at', '03:30', '--keep', '1']
  assert.equal((await schedule(0, 'add', 'atlas', 'bob/notes', ...timing)).out, '1')
  const runAndWatch = async (exitCode: number) =>
    migration(exitCode, 'watch', (await schedule(0, 'run', '1')).out)
  await runAndWatch(0)
  await rm(path('bob/notes'), { recursive: true })
  const partial = await runAndWatch(5)
  assert.match(
    partial.err,
    /skipped: bob\/notes: it no longer exists, or may no longer be migrated/,
  )
  assert.match(
    (await schedule(0, 'show', '1')).out,
    /no newer one holds these repositories:\n {2}migration 1 \(.+\): bob\/notes\n.*`godwit schedule release 1`/,
  )
  const other = `${OWN}/1/protected-archives`
  for (const [caller, id] of [
    [token, 2],
    [token, 'x'],
    [bob, 1],
  ] as const)
    await jsonClient(service, caller)(404, 'DELETE', `${other}/${id}`)
  assert.match((await schedule(3, 'release', '1', '2')).err, /`godwit schedule show 1` lists them/)
  await migration(0, 'show', '1')
  assert.equal((await schedule(0, 'release', '1')).out, 'archive of migration 1 deleted')
  assert.match((await schedule(0, 'release', '1')).out, /no archives to release/)
  await runAndWatch(0)
  await until('it is logged', () => service.log().includes('"audit":"schedule.release"'))
})
