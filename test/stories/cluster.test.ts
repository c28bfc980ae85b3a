import assert from 'node:assert/strict'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../../src/db/connect.ts'
import { startCluster } from '../support/cluster.ts'
import { manyRepositories, post, untilEnded, verifyArchive } from '../support/cluster-story.ts'
import { gitHost } from '../support/git-host.ts'
import { until } from '../support/wait-until.ts'

test('an API that sees no repositories, and workers that do', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 6)
  const cluster = await startCluster(t, { repositories: host.root })
  const token = await cluster.token('alice')
  // An API process whose archives are elsewhere has nothing on its own disk; not even the directory.
  const elsewhere = await mkdtemp(join(tmpdir(), 'godwit-api-'))
  const [one, two] = await Promise.all([
    cluster.api('--data', elsewhere),
    cluster.api(),
    cluster.worker(),
    cluster.worker(),
  ])
  await rm(elsewhere, { recursive: true })
  const body = { repositories: names, lock_repositories: true }
  const { free_bytes } = await post(cluster, one!, token, '/user/migrations/preflight', body)
  const { bavail, bsize } = await statfs(cluster.data)
  assert.ok(Math.abs((free_bytes as number) / (bavail * bsize) - 1) < 0.5, `${free_bytes} free`)
  const { id } = await post(cluster, one!, token, '/user/migrations', body)
  await assert.rejects(host.push('alice/r0', { b: '2' }), /deny updating a hidden ref/)
  await untilEnded(cluster, two!, token, id, 'exported')
  await verifyArchive(t, cluster, two!, token, id)
  const unlocked = await cluster.call(one!, token, `/user/migrations/${id}/repos/r0/lock`, {
    method: 'DELETE',
  })
  assert.equal(unlocked.status, 204)
  await host.push('alice/r0', { b: '2' })
})

test('API processes on one database count against the same rate limit', async (t) => {
  const host = await gitHost()
  const cluster = await startCluster(t, { repositories: host.root, flags: ['--rate-limit', '4'] })
  t.after(host.remove)
  await manyRepositories(host, 1)
  const token = await cluster.token('alice')
  const apis = await Promise.all([cluster.api(), cluster.api()])
  const answers = []
  for (let n = 0; n < 6; n++)
    answers.push(await cluster.call(apis[n % 2]!, token, '/user/migrations'))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 403, 403],
  )
  const used = answers.map(({ headers }) => headers.get('x-ratelimit-used'))
  assert.deepEqual(used, ['1', '2', '3', '4', '4', '4'])
})

test('each due time of a schedule is run once, whichever workers look', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 1)
  const cluster = await startCluster(t, { repositories: host.root, flags: ['--rate-limit', '0'] })
  const token = await cluster.token('alice')
  const api = await cluster.api()
  const daily = { repositories: names, every: 'day', at: '03:30', time_zone: 'UTC' }
  const path = '/user/migrations/schedules'
  for (let n = 0; n < 6; n++) await post(cluster, api, token, path, daily)
  const { db, close } = await connect({ dataDirectory: '', databaseUrl: cluster.databaseUrl })
  t.after(close)
  const yesterday = Date.now() - 86_400_000
  await db.updateTable('schedules').set({ next_run_at: yesterday }).execute()
  // Both look as soon as they have started.
  await Promise.all([cluster.worker(), cluster.worker()])
  await until(
    () => `every schedule has run:\n${cluster.log()}`,
    async () => {
      const all = await (await cluster.call(api, token, path)).json()
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

test('housekeeping is done by one of the workers, not by each', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const flags = ['--log-level', 'debug']
  const cluster = await startCluster(t, { repositories: host.root, flags })
  const workers = await Promise.all([cluster.worker(), cluster.worker(), cluster.worker()])
  await Promise.all(workers.map((worker) => worker.kill('SIGTERM')))
  const turns = cluster.log().matchAll(/"housekeeping":"([^"]+)"/g)
  // Those of schedules come again too soon to be counted.
  const names = [...turns].map(([, name]) => name!).filter((name) => !name.endsWith('schedules'))
  assert.deepEqual(names.sort(), [
    'settling locks',
    'sweeping',
    'sweeping facts',
    'sweeping orphans',
    'sweeping sessions',
    'sweeping webhook deliveries',
  ])
})
