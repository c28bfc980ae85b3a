import assert from 'node:assert/strict'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { connect } from '../../packages/server/src/db/connect.ts'
import { type Cluster, type Member, startCluster } from '../support/cluster.ts'
import { manyRepositories, post, untilEnded, verifyArchive } from '../support/cluster-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { until } from '../support/wait-until.ts'

const fileCleanup = cleanupAfterFile()
let host: GitHost
let names: string[]
let cluster: Cluster
let alice: string
let apis: [Member, Member]
let workers: Member[]
let workersStartedAt: number

/** Starts two API processes and two workers for all tests. */
before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  names = await manyRepositories(host, 6)
  await host.repository('bob/own', { files: { a: '1' } })
  const flags = ['--log-level', 'debug', '--rate-limit', '0']
  cluster = await startCluster(fileCleanup, { repositories: host.root, flags })
  alice = await cluster.token('alice')
  // An API process whose archives are in a bucket has no data directory.
  const elsewhere = await mkdtemp(join(tmpdir(), 'godwit-api-'))
  apis = await Promise.all([cluster.api('--data', elsewhere), cluster.api()])
  await rm(elsewhere, { recursive: true })
})

test('each due time of a schedule runs once, with several workers', async (t) => {
  const daily = { repositories: ['alice/r0'], every: 'day', at: '03:30', time_zone: 'UTC' }
  const path = '/user/migrations/schedules'
  for (let n = 0; n < 6; n++) await post(cluster, apis[0], alice, path, daily)
  const { db, close } = await connect({ dataDirectory: '', databaseUrl: cluster.databaseUrl })
  t.after(close)
  const yesterday = Date.now() - 86_400_000
  await db.updateTable('schedules').set({ next_run_at: yesterday }).execute()
  // Both look for due times as soon as they have started.
  workersStartedAt = Date.now()
  workers = await Promise.all([cluster.worker(), cluster.worker()])
  await until(
    () => `every schedule has run:\n${cluster.log()}`,
    async () => {
      const all = await (await cluster.call(apis[1], alice, path)).json()
      return (all as { last_run: { state: string } | null }[]).every(
        ({ last_run }) => last_run?.state === 'exported',
      )
    },
  )
  const runs = await db.selectFrom('schedule_runs').selectAll().execute()
  assert.deepEqual(runs.map(({ schedule_id }) => schedule_id).sort(), [1, 2, 3, 4, 5, 6])
  const migrations = await db.selectFrom('migrations').select('id').execute()
  assert.equal(migrations.length, runs.length)
})

test('an API without access to the repositories works with workers that have it', async (t) => {
  const [one, two] = apis
  const body = { repositories: names, lock_repositories: true }
  const { free_bytes } = await post(cluster, one, alice, '/user/migrations/preflight', body)
  const { bavail, bsize } = await statfs(cluster.data)
  assert.ok(Math.abs((free_bytes as number) / (bavail * bsize) - 1) < 0.5, `${free_bytes} free`)
  const { id } = await post(cluster, one, alice, '/user/migrations', body)
  const lockOf = () =>
    host.git(['config', 'receive.hideRefs'], { dir: host.path('alice/r0') }).catch(() => '')
  await until('r0 is locked', async () => (await lockOf()) !== '')
  await assert.rejects(host.push('alice/r0', { b: '2' }), /deny updating a hidden ref/)
  await untilEnded(cluster, two, alice, id, 'exported')
  await verifyArchive(t, cluster, two, alice, id)
  const unlocked = await cluster.call(one, alice, `/user/migrations/${id}/repos/r0/lock`, {
    method: 'DELETE',
  })
  assert.equal(unlocked.status, 204)
  await until('r0 is unlocked', async () => (await lockOf()) === '')
  await host.push('alice/r0', { b: '2' })
})

test('only one of the workers does the housekeeping', async () => {
  await Promise.all(workers.map((worker) => worker.kill('SIGTERM')))
  const turns = cluster.log().matchAll(/"housekeeping":"([^"]+)"/g)
  // Schedules are checked too often to be counted.
  const names = [...turns].map(([, name]) => name!).filter((name) => !name.endsWith('schedules'))
  assert.deepEqual([...new Set(names)].sort(), [
    'checking stored data',
    'reconciling locks',
    'sweeping',
    'sweeping discussions',
    'sweeping history',
    'sweeping metadata',
    'sweeping orphans',
    'sweeping segments',
    'sweeping sessions',
    'sweeping the audit log',
    'sweeping tokens',
    'sweeping webhook deliveries',
  ])
  // The other tasks run at most once a minute.
  const minutes = Math.ceil((Date.now() - workersStartedAt) / 60_000)
  for (const [name, taken] of Map.groupBy(names, (name) => name))
    assert.ok(taken.length <= minutes, `${name}: ${taken.length} times in ${minutes} minutes`)
})

test('API processes on one database share the rate limit', async () => {
  const bob = await cluster.token('bob')
  const startLimited = () => cluster.api('--rate-limit', '4')
  const apis = await Promise.all([startLimited(), startLimited()])
  const responses = []
  for (let n = 0; n < 6; n++)
    responses.push(await cluster.call(apis[n % 2]!, bob, '/user/migrations'))
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 403, 403],
  )
  const used = responses.map(({ headers }) => headers.get('x-ratelimit-used'))
  assert.deepEqual(used, ['1', '2', '3', '4', '4', '4'])
})
