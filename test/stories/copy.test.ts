import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { createDatabase } from '../support/postgres.ts'
import { emptyBucket, envFor, needsObjectStore } from '../support/radosgw.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { OWN, WEEKLY } from '../support/schedule-story.ts'
import {
  type ServiceOptions,
  type SharedService,
  untilEnded,
  withoutCloneTokens,
} from '../support/service.ts'
import { createCommandRunner } from '../support/shared-commands.ts'
import { slowGit } from '../support/slow-git.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'
import { webhookReceiver } from '../support/webhook-receiver.ts'
import { ALLOW_LOOPBACK, addWebhook, makeHost, post } from '../support/webhook-story.ts'

/** Runs `godwit copy`, and returns its report. */
async function copy(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await createCommandRunner({ env: { ...process.env, ...env } })([
    'copy',
    '--json',
    ...args,
  ])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as {
    tables: { table: string; rows: number }[]
    archives: { count: number; bytes: number; digest: string; damaged: string[] } | null
    unfinished_migrations: number
    source_moved: boolean
  }
}

async function failToRun(pattern: RegExp, ...args: string[]): Promise<void> {
  const { code, stderr } = await createCommandRunner()(args)
  assert.notEqual(code, 0, `godwit ${args.join(' ')}`)
  assert.match(stderr, pattern)
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
}

const MOVED = /^godwit: this service was moved to /

/** Reads everything that alice can read: statuses with their ETags, lists, and the bytes of the archives. */
async function answers(service: SharedService, token: string, archives: readonly number[]) {
  // Locks change the time of a repository.
  await service.godwit('sync')
  const paths = [
    ...['/user', '/user/migrations', OWN, `${OWN}/1`, '/user/hooks', '/user/hooks/1/deliveries'],
    ...['/user/repos', '/user/migration-summaries', '/orgs/octo/migrations'],
    ...archives.flatMap((id) => [
      `/user/migrations/${id}`,
      `/user/migrations/${id}/repositories`,
      `/user/migrations/${id}/report`,
    ]),
  ]
  const found: Record<string, unknown> = {}
  for (const path of paths) {
    const response = await service.call(token, path)
    const body = withoutCloneTokens(await response.text())
    found[path] = { status: response.status, etag: response.headers.get('etag'), body }
  }
  for (const id of archives) {
    const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
    found[`archive ${id}`] = await digestAt(headers.get('location'))
  }
  return found
}

async function digestAt(link: string | null): Promise<string> {
  const response = await fetch(link!)
  assert.equal(response.status, 200)
  return createHash('sha256')
    .update(await response.bytes())
    .digest('hex')
}

async function migrate(service: SharedService, token: string, body: unknown): Promise<number> {
  const response = await service.call(token, '/user/migrations', post(body))
  assert.equal(response.status, 201)
  const { id } = (await response.json()) as { id: number }
  return id
}

/** Starts a service on SQLite with history: two migrations, one of them unfinished, a schedule, and a webhook with deliveries. */
async function serviceWithHistory(t: TestContext) {
  const host = await makeHost(t)
  const git = await slowGit({ afterFirst: 2 })
  t.after(git.remove)
  const receiver = await webhookReceiver(t)
  const shared: ServiceOptions = {
    repositories: host.root,
    port: await freePort(),
    flags: [...ALLOW_LOOPBACK, '--git', git.program, '--downloads', 'proxy'],
  }
  const service = await startSharedService(t, { ...shared, data: temporaryDirectory(t) })
  const token = await service.token('alice')
  await addWebhook(service, token, receiver.url)
  assert.equal(
    (await service.call(token, OWN, post({ ...WEEKLY, repositories: ['atlas'] }))).status,
    201,
  )
  const id = await migrate(service, token, { repositories: ['atlas', 'birds'] })
  await untilEnded(service, token, id, 'exported')
  await until('the ping and the end are delivered', () => receiver.received.length === 2)
  const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
  await host.commit(host.path('alice/birds'), { b: '2' })
  await service.godwit('sync')
  const unfinished = await migrate(service, token, {
    repositories: ['atlas', 'birds'],
    lock_repositories: true,
  })
  await git.untilSlow()
  return {
    host,
    git,
    receiver,
    shared,
    service,
    token,
    id,
    unfinished,
    link: headers.get('location')!,
  }
}

test(
  'a service is copied to PostgreSQL and a bucket, used there, and copied back, and answers the same',
  needsObjectStore,
  async (t) => {
    const history = await serviceWithHistory(t)
    const { host, git, receiver, shared, service, token, id, unfinished, link } = history
    const bucket = await emptyBucket()
    const env = envFor(bucket)
    const [databaseUrl, blobs] = [await createDatabase(), `s3://${bucket.bucket}/godwit`]
    const up = ['--to-database-url', databaseUrl, '--to-blobs', blobs]

    // While the service runs, only the archives are copied.
    const running = createCommandRunner({ env: { ...process.env, ...env } })
    const early = await running(['copy', '--data', service.data, ...up])
    assert.match(early.stderr, /^godwit: the archives are copied, but the service is still running/)
    await service.stop()
    const before = { ...(await copiedTables(service.data)) }
    const report = await copy(env, '--data', service.data, ...up, '--verify', 'full')
    assert.deepEqual([report.unfinished_migrations, report.source_moved], [1, true])
    assert.ok(report.archives!.count > 2)
    assert.deepEqual(report.archives!.damaged, [])
    assert.deepEqual(
      { ...before, audit_log: before.audit_log! + 1 },
      Object.fromEntries(report.tables.map((each) => [each.table, each.rows])),
      'the copy is in the audit log',
    )
    const data = ['--data', service.data]
    await failToRun(MOVED, 'serve', ...data, '--repositories', host.root)
    await failToRun(MOVED, 'token', 'add', 'alice', ...data)
    await failToRun(MOVED, 'sync', ...data, '--repositories', host.root)

    await git.speedUp()
    const flags = [...shared.flags!, '--blobs', blobs]
    const upstairs = await startSharedService(t, { ...shared, flags, databaseUrl, env })
    await untilEnded(upstairs, token, unfinished, 'exported')
    assert.equal(await digestAt(link), (await answers(upstairs, token, [id]))[`archive ${id}`])
    await until(
      'the end of the second migration is delivered',
      () => receiver.received.length === 3,
    )
    const unlock = `/user/migrations/${unfinished}/repos/birds/lock`
    assert.equal((await upstairs.call(token, unlock, { method: 'DELETE' })).status, 204)
    const third = await migrate(upstairs, token, { repositories: ['birds'] })
    assert.equal(third, unfinished + 1)
    await untilEnded(upstairs, token, third, 'exported')
    await until('the end of the third migration is delivered', () => receiver.received.length === 4)
    const all = [id, unfinished, third]
    const atTop = await answers(upstairs, token, all)
    await upstairs.stop()

    const down = join(temporaryDirectory(t), 'data')
    const from = ['--database-url', databaseUrl, '--blobs', blobs]
    await copy(env, ...from, '--to', down, '--verify', 'full')
    await failToRun(MOVED, 'work', ...from, '--repositories', host.root)
    const home = await startSharedService(t, { ...shared, data: down })
    assert.deepEqual(await answers(home, token, all), atTop)
    assert.equal(await digestAt(link), atTop[`archive ${id}`])
    assert.equal(await migrate(home, token, { repositories: ['atlas'] }), third + 1)
    await untilEnded(home, token, third + 1, 'exported')
  },
)

/** Returns what a copy that keeps the source reports for each table. */
async function copiedTables(data: string): Promise<Record<string, number>> {
  const { tables } = await copy({}, '--data', data, '--to', `${data}-kept`, '--keep-source')
  return Object.fromEntries(tables.map(({ table, rows }) => [table, rows]))
}

test('a backup is made while the service runs, updated, and restored', async (t) => {
  const { git, shared, service, token, id, unfinished } = await serviceWithHistory(t)
  const folder = temporaryDirectory(t)
  const [backup, restored] = [join(folder, 'backup'), join(folder, 'restored')]
  const source = ['--data', service.data, '--to', backup, '--online']
  const first = await copy({}, ...source)
  assert.deepEqual([first.unfinished_migrations, first.source_moved], [1, false])
  await git.speedUp()
  await untilEnded(service, token, unfinished, 'exported')
  const second = await copy({}, ...source)
  assert.equal(second.unfinished_migrations, 0)
  assert.ok(second.archives!.count > first.archives!.count)
  const expected = await answers(service, token, [id, unfinished])
  await service.stop()
  await copy({}, '--from', backup, '--to', restored, '--keep-source', '--verify', 'full')
  const again = await startSharedService(t, { ...shared, data: restored })
  assert.deepEqual(await answers(again, token, [id, unfinished]), expected)
  await again.stop()
  // A service was used here, so its changes must not be replaced.
  const onto = ['copy', '--data', backup, '--to', restored, '--keep-source']
  await failToRun(/is not empty, and not an unused copy of this service/, ...onto)
})

test('the database or the archives are copied alone', async (t) => {
  const { git, host, shared, service, token, id, unfinished } = await serviceWithHistory(t)
  await service.stop()
  await git.speedUp()
  const databaseUrl = await createDatabase()
  const source = ['--data', service.data]
  await failToRun(
    /two services must not have the same archives/,
    ...['copy', ...source, '--to-database-url', databaseUrl, '--keep-source'],
  )
  const { archives } = await copy({}, ...source, '--to-database-url', databaseUrl)
  assert.equal(archives, null)
  const onPostgres = { ...shared, databaseUrl }
  const there = await startSharedService(t, { ...onPostgres, data: service.data })
  await untilEnded(there, token, unfinished, 'exported')
  const expected = await answers(there, token, [id])
  await there.stop()

  const elsewhere = join(temporaryDirectory(t), 'elsewhere')
  const { tables } = await copy(
    {},
    ...source,
    '--database-url',
    databaseUrl,
    '--to-blobs',
    elsewhere,
  )
  assert.deepEqual(tables, [])
  await failToRun(
    /^godwit: the archives of this service were moved from /,
    ...['serve', ...source, '--database-url', databaseUrl, '--repositories', host.root],
  )
  const moved = await startSharedService(t, { ...onPostgres, data: elsewhere })
  assert.deepEqual(await answers(moved, token, [id]), expected)
})
