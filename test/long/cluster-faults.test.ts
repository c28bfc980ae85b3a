import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import type { Cluster, Member } from '../support/cluster.ts'
import { type FaultStory, faultStory } from '../support/cluster-faults.ts'
import { archiveLink, post, untilEnded, verifyBytes } from '../support/cluster-story.ts'
import { createDatabase, startCluster as startPostgres } from '../support/postgres.ts'
import { needsObjectStore, ownGateway } from '../support/radosgw.ts'
import { until } from '../support/wait-until.ts'

type Json = Record<string, unknown>

const both = ({ cluster }: FaultStory) => Promise.all([cluster.api(), cluster.api()])

const three = ({ cluster, git }: FaultStory) =>
  Promise.all([1, 2, 3].map(() => cluster.worker('--git', git.program)))

const isAlive = ({ process: { exitCode, signalCode } }: Member) =>
  exitCode === null && signalCode === null

test(
  'exports survive one killed and one suspended worker of three',
  needsObjectStore,
  async (t) => {
    const story = await faultStory(t, { repositories: 5 })
    const { cluster, git, host, names, token } = story
    const [one, two] = await both(story)
    const [killed, stopped, other] = await three(story)
    const first = await story.start(one!)
    await git.pid(3)
    await killed!.kill('SIGKILL')
    stopped!.process.kill('SIGSTOP')
    await git.speedUp()
    await untilEnded(cluster, two!, token, first, 'exported')
    stopped!.process.kill('SIGCONT')

    // The resumed worker has lost its job, and works on.
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
  const [one, two] = await both(story)
  const [holder, watcher] = await Promise.all([dial(t, cluster), dial(t, cluster)])

  await holder.query('begin')
  await holder.query('select id from accounts for update')
  const early = story.start(one!)
  early.catch(() => {})
  await until('the start waits for a lock', async () => (await waiting(watcher)) > 0)
  await one!.kill('SIGKILL')
  await assert.rejects(early)
  await holder.query('rollback')
  await until('nobody waits for a lock', async () => (await waiting(watcher)) === 0)
  const list = async () =>
    (await (await cluster.call(two!, token, '/user/migrations')).json()) as Json[]
  assert.deepEqual(await list(), [])
  const { rows: jobs } = await watcher.query('select id from godwit_queue.job')
  assert.deepEqual(jobs, [])

  // Locks cannot be set without a worker, so the response waits, but the migration exists.
  const late = await cluster.api()
  const unanswered = story.start(late)
  unanswered.catch(() => {})
  await until('the start is written', async () => (await list()).length === 1)
  await late.kill('SIGKILL')
  await assert.rejects(unanswered)
  const [{ id: first }] = (await list()) as [Json]
  const workers = await three(story)
  await cluster.token('alice')
  const body = { repositories: ['large'] }
  const { id: second } = await post(cluster, two!, token, '/user/migrations', body)
  await untilEnded(cluster, two!, token, second, 'exported')

  const sender = await cluster.api()
  const download = await fetch(await archiveLink(cluster, sender, token, second))
  const got: Buffer[] = []
  const reading = (async () => {
    for await (const chunk of download.body!) {
      got.push(Buffer.from(chunk))
      if (got.length === 1) await sender.kill('SIGKILL')
    }
  })()
  await assert.rejects(reading)
  const sofar = Buffer.concat(got)
  const rest = await fetch(await archiveLink(cluster, two!, token, second), {
    headers: { range: `bytes=${sofar.length}-`, 'if-range': download.headers.get('etag')! },
  })
  assert.equal(rest.status, 206)
  const whole = Buffer.concat([sofar, Buffer.from(await rest.arrayBuffer())])
  assert.equal(whole.length, Number(download.headers.get('content-length')))
  await verifyBytes(t, whole)
  await story.assertExported(two!, [first])
  await story.assertTidy(workers)
})

test('exports survive a restart of PostgreSQL', needsObjectStore, async (t) => {
  const postgres = await startPostgres()
  t.after(postgres.stop)
  const databaseUrl = await createDatabase(postgres.url)
  const story = await faultStory(t, { repositories: 6, databaseUrl })
  const { cluster, git, host, names } = story
  const apis = await both(story)
  const workers = await three(story)
  const first = await story.start(apis[0]!)
  await git.pid(3)
  await postgres.restart(async () => {
    await git.speedUp()
    for (const { url } of apis) {
      // The first request to the bucket takes long on a busy machine.
      await until(`${url} misses the database alone`, async () => {
        const { waiting_for } = (await (await fetch(`${url}/readyz`)).json()) as Json
        return String(waiting_for) === 'database'
      })
      const answers = await Promise.all(
        ['healthz', 'readyz', 'metrics'].map((path) => fetch(`${url}/${path}`)),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 503, 200],
      )
      const { waiting_for } = (await answers[1]!.json()) as Json
      assert.deepEqual(waiting_for, ['database'])
      assert.match(await answers[2]!.text(), /^godwit_dependency_up{dependency="database"} 0$/m)
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
  const apis = await both(story)
  const workers = await three(story)
  const first = await story.start(apis[0]!)
  await git.pid(3)
  await gateway.kill()
  await git.speedUp()
  const away = sleep(20_000)
  const second = await story.start(apis[1]!)
  const readiness = () => fetch(`${apis[0]!.url}/readyz`)
  await until('the gateway alone is missed', async () =>
    isDeepStrictEqual(await (await readiness()).json(), {
      status: 'unavailable',
      waiting_for: ['blobs'],
    }),
  )
  await away
  await gateway.restart()
  for (const api of apis) await untilReady(api)
  await until('failed puts are counted', async () =>
    /^godwit_blob_errors{operation="put"} [1-9]/m.test(await metrics(apis[1]!)),
  )
  await story.assertExported(apis[1]!, [first, second])
  await story.assertTidy(workers)
})

const metrics = async ({ url }: Member) => (await fetch(`${url}/metrics`)).text()

const untilReady = ({ url }: Member) =>
  until(`${url} is ready again`, async () => (await fetch(`${url}/readyz`)).ok)

async function dial(t: TestContext, { databaseUrl }: Cluster): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  t.after(() => client.end())
  return client
}

/**
 * Counts statements of other sessions that wait for a lock. A transaction would only see the sessions of its
 * first query.
 */
async function waiting(database: pg.Client): Promise<number> {
  const { rows } = await database.query(`select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return rows.length
}
