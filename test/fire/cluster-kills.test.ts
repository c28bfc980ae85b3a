import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Cluster, type Member, startCluster } from '../support/cluster.ts'
import { manyRepositories, post, untilEnded, verifyArchive } from '../support/cluster-story.ts'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { randomNumbers } from '../support/random-numbers.ts'
import { until } from '../support/wait-until.ts'

const DURATION_MS = shortOrLong({ short: 4000, long: 240_000 })
const MAX_LIFETIME_MS = 3000

test('killing API processes and workers on one database loses nothing', async (t) => {
  t.diagnostic(`seed ${seed}`)
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 8)
  const cluster = await startCluster(t, {
    repositories: host.root,
    flags: ['--rate-limit', '0', '--log-level', 'warn', '--concurrency', '2'],
  })
  const token = await cluster.token('alice')
  const members = {
    api: await cluster.api(),
    worker: await cluster.worker(),
    otherWorker: await cluster.worker(),
  }
  const over = new AbortController()
  const starting = startMigrations(
    { cluster, host, names, token, api: () => members.api },
    over.signal,
  )
  const kills = await killProcesses(cluster, members)
  over.abort()
  const started = await starting

  for (const id of started) await untilEnded(cluster, members.api, token, id, 'exported')
  await assertNothingPending(cluster)
  for (const id of started) await verifyArchive(t, cluster, members.api, token, id)
  reportFault(
    t,
    'kill -9 of one of several processes',
    kills,
    'the others continue and take over its jobs',
  )
})

async function killProcesses(cluster: Cluster, members: Record<string, Member>) {
  const random = randomNumbers(seed)
  const over = performance.now() + DURATION_MS
  let kills = 0
  for (; performance.now() < over; kills++) {
    await pause(random() * MAX_LIFETIME_MS)
    const [name, victim] = Object.entries(members)[Math.floor(random() * 3)]!
    await victim.kill('SIGKILL')
    members[name] = await (name === 'api' ? cluster.api() : cluster.worker())
  }
  return kills
}

interface RequestOptions {
  cluster: Cluster
  host: GitHost
  names: string[]
  token: string
  api: () => Member
}

/** Starts migrations until the signal aborts, and returns the ids of those that the server acknowledged. */
async function startMigrations(
  { cluster, host, names, token, api }: RequestOptions,
  over: AbortSignal,
) {
  const started: number[] = []
  // On a slow machine the time may be over before the first response; after that, no process is killed any more.
  for (let round = 1; !over.aborted || started.length === 0; round++) {
    for (const name of names) await host.commit(host.path(name), { b: `${round}` })
    const body = { repositories: names, lock_repositories: round % 2 === 0 }
    try {
      const { id } = await post(cluster, api(), token, '/user/migrations', body)
      if (typeof id === 'number') started.push(id)
      if (typeof id === 'number') await untilEnded(cluster, api(), token, id)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
    await pause(100)
  }
  return started
}

/** Asserts that no job waits, that every migration has ended, and that only exported migrations hold locks. */
async function assertNothingPending({ databaseUrl }: Cluster): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const count = async (sql: string) => Number((await client.query(sql)).rows[0].count)
  try {
    // Migrations whose response was lost have to end as well.
    const unfinished = `select count(*) from migrations where state in ('pending', 'exporting')`
    await until('every migration has ended', async () => (await count(unfinished)) === 0)
    const stray = `select count(*) from repository_locks join migrations on migrations.id = migration_id
      where state <> 'exported' or released_at is not null`
    await until('no stray lock is left', async () => (await count(stray)) === 0)
    const jobs = 'select count(*) from godwit_queue.job'
    await until('no job is left', async () => (await count(jobs)) === 0)
  } finally {
    await client.end()
  }
}
