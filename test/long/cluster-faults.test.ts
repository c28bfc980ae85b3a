import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import type { Cluster, Member } from '../support/cluster.ts'
import { type FaultStory, faultStory } from '../support/cluster-faults.ts'
import { archiveLink, post, untilEnded, verifyBytes } from '../support/cluster-story.ts'
import { createDatabase, startPostgres } from '../support/postgres.ts'
import { needsObjectStore, ownGateway } from '../support/radosgw.ts'
import { until } from '../support/wait-until.ts'

type Json = Record<string, unknown>

const startApis = ({ cluster }: FaultStory) => Promise.all([cluster.api(), cluster.api()])

const startWorkers = ({ cluster, git }: FaultStory, count: number) =>
  Promise.all(Array.from({ length: count }, () => cluster.worker('--git', git.program)))

const isAlive = ({ process: { exitCode, signalCode } }: Member) =>
  exitCode === null && signalCode === null

test(
  'exports survive one killed and one suspended worker of three',
  needsObjectStore,
  async (t) => {
    const story = await faultStory(t, { repositories: 5 })
    const { cluster, git, host, names, token } = story
    const [one, two] = await startApis(story)
    const [killed, stopped, other] = await startWorkers(story, 3)
    const first = await story.start(one!)
    await git.untilSlow(3)
    await killed!.kill('SIGKILL')
    stopped!.process.kill('SIGSTOP')
    await git.speedUp()
    await untilEnded(cluster, two!, token, first, 'exported')
    stopped!.process.kill('SIGCONT')

    // The resumed worker has lost its job, and exports the next ones.
    await other!.kill('SIGTERM')
    for (const name of names) await host.commit(host.path(name), { b: name })
    const second = await story.start(two!)
    await story.assertExported(one!, [first, second])
    await story.assertTidy([stopped!])
  },
)

test('starts and downloads survive a killed API process', needsObjectStore, async (t) => {
  const story = await faultStory(t, { repositories: 3, flags: ['--downloads', 'proxy'] })
  const { cluster, host, git, token } = story
  await git.speedUp()
  await host.repository('alice/large', { files: { noise: randomBytes(9e6).toString('base64') } })
  const [one, two] = await startApis(story)
  const [holder, watcher] = await Promise.all([connectTo(t, cluster), connectTo(t, cluster)])

  await holder.query('begin')
  await holder.query('select id from accounts for update')
  const early = story.start(one!)
  early.catch(() => {})
  await until('the start waits for a lock', async () => (await countLockWaits(watcher)) > 0)
  await one!.kill('SIGKILL')
  await assert.rejects(early)
  await holder.query('rollback')
  await until('no statement waits for a lock', async () => (await countLockWaits(watcher)) === 0)
  const list = async () =>
    (await (await cluster.call(two!, token, '/user/migrations')).json()) as Json[]
  assert.deepEqual(await list(), [])
  const { rows: jobs } = await watcher.query('select id from godwit_queue.job')
  assert.deepEqual(jobs, [])

  // Locks cannot be set without a worker, so the response waits, but the migration exists.
  const late = await cluster.api()
  const pending = story.start(late)
  pending.catch(() => {})
  await until('the start is written', async () => (await list()).length === 1)
  await late.kill('SIGKILL')
  await assert.rejects(pending)
  const [{ id: first }] = (await list()) as [Json]
  const workers = await startWorkers(story, 1)
  await cluster.token('alice')
  const body = { repositories: ['large'] }
  const { id: second } = await post(cluster, two!, token, '/user/migrations', body)
  await untilEnded(cluster, two!, token, second, 'exported')

  const sender = await cluster.api()
  const download = await fetch(await archiveLink(cluster, sender, token, second))
  const chunks: Buffer[] = []
  const reading = (async () => {
    for await (const chunk of download.body!) {
      chunks.push(Buffer.from(chunk))
      if (chunks.length === 1) await sender.kill('SIGKILL')
    }
  })()
  await assert.rejects(reading)
  const firstPart = Buffer.concat(chunks)
  const rest = await fetch(await archiveLink(cluster, two!, token, second), {
    headers: { range: `bytes=${firstPart.length}-`, 'if-range': download.headers.get('etag')! },
  })
  assert.equal(rest.status, 206)
  const archive = Buffer.concat([firstPart, Buffer.from(await rest.arrayBuffer())])
  assert.equal(archive.length, Number(download.headers.get('content-length')))
  await verifyBytes(t, archive)
  await story.assertExported(two!, [first])
  await story.assertTidy(workers)
})

test('exports survive a restart of PostgreSQL', needsObjectStore, async (t) => {
  const postgres = await startPostgres()
  t.after(postgres.stop)
  const databaseUrl = await createDatabase(postgres.url)
  const story = await faultStory(t, { repositories: 6, databaseUrl })
  const { cluster, git, host, names } = story
  const apis = await startApis(story)
  const workers = await startWorkers(story, 2)
  const first = await story.start(apis[0]!)
  await git.untilSlow(2)
  await postgres.restart(async () => {
    await git.speedUp()
    for (const { url } of apis) {
      // The first request to the bucket takes long on a busy machine.
      await until(`${url} waits only for the database`, async () => {
        const { waiting_for } = (await (await fetch(`${url}/readyz`)).json()) as Json
        return String(waiting_for) === 'database'
      })
      const responses = await Promise.all(
        ['healthz', 'readyz', 'metrics'].map((path) => fetch(`${url}/${path}`)),
      )
      assert.deepEqual(
        responses.map(({ status }) => status),
        [200, 503, 200],
      )
      const { waiting_for } = (await responses[1]!.json()) as Json
      assert.deepEqual(waiting_for, ['database'])
      assert.match(await responses[2]!.text(), /^godwit_dependency_up{dependency="database"} 0$/m)
    }
  })
  for (const api of apis) await untilReady(api)
  await untilEnded(cluster, apis[1]!, story.token, first, 'exported')
  assert.ok([...apis, ...workers].every(isAlive), cluster.log())
  for (const name of names) await host.commit(host.path(name), { b: name })
  await story.assertExported(apis[0]!, [first, await story.start(apis[1]!)])
  await story.assertTidy(workers)
})

test('exports survive twenty seconds without the object store', needsObjectStore, async (t) => {
  const gateway = await ownGateway(t)
  const story = await faultStory(t, { repositories: 4, endpoint: gateway.endpoint })
  const { git } = story
  const apis = await startApis(story)
  const workers = await startWorkers(story, 2)
  const first = await story.start(apis[0]!)
  await git.untilSlow(2)
  await gateway.kill()
  await git.speedUp()
  const outage = sleep(20_000)
  const second = await story.start(apis[1]!)
  const readiness = () => fetch(`${apis[0]!.url}/readyz`)
  await until('only the object store is unavailable', async () =>
    isDeepStrictEqual(await (await readiness()).json(), {
      status: 'unavailable',
      waiting_for: ['blobs'],
    }),
  )
  await outage
  await gateway.restart()
  for (const api of apis) await untilReady(api)
  await until('failed puts are counted', async () =>
    /^godwit_blob_errors_total{operation="put"} [1-9]/m.test(await metrics(apis[1]!)),
  )
  await story.assertExported(apis[1]!, [first, second])
  await story.assertTidy(workers)
})

const metrics = async ({ url }: Member) => (await fetch(`${url}/metrics`)).text()

const untilReady = ({ url }: Member) =>
  until(`${url} is ready again`, async () => (await fetch(`${url}/readyz`)).ok)

async function connectTo(t: TestContext, { databaseUrl }: Cluster): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  t.after(() => client.end())
  return client
}

/**
 * Counts statements of other sessions that wait for a lock. A transaction would only see the sessions of its
 * first query.
 */
async function countLockWaits(database: pg.Client): Promise<number> {
  const { rows } = await database.query(`select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return rows.length
}
