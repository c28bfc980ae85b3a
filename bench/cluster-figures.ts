import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startCluster } from '../test/support/cluster.ts'
import { post, untilEnded } from '../test/support/cluster-story.ts'
import { createDatabase, type Cluster as Postgres } from '../test/support/postgres.ts'
import { PREVIEW, startService, untilEnded as untilServiceEnded } from '../test/support/service.ts'
import { OWNER } from './corpus.ts'
import { requestsPerSecond } from './load.ts'
import { seconds } from './measure.ts'

interface Scene {
  /** A directory of `ada/NAME.git`. */
  corpus: string
  postgres: Postgres
}

const QUIET = ['--log-level', 'error', '--max-unfinished-migrations', '1000']
/** Counted like any other, but never refused. */
const UNREFUSED = ['--rate-limit', '1000000000']
const STARTS = 20
const READ_SECONDS = 5

/** From the start of a migration of everything until it is exported, by so many workers that do one thing at a time. */
export async function exportSeconds({ workers, ...scene }: Scene & { workers: number }) {
  await using cleanup = new Cleanup()
  const { cluster, api, token } = await startApi(cleanup, scene)
  const starting = Array.from({ length: workers }, () => cluster.worker('--concurrency', '1'))
  await Promise.all(starting)
  const repositories = await namesIn(scene.corpus)
  return await seconds(async () => {
    const { id } = await post(cluster, api, token, '/user/migrations', { repositories })
    const state = await untilEnded(cluster, api, token, id)
    if (state !== 'exported') throw new Error(cluster.log())
  })
}

/** Milliseconds from the row of a migration to its worker's first, with two workers that have nothing else to do. */
export async function claimLatencies(scene: Scene): Promise<number[]> {
  await using cleanup = new Cleanup()
  const { cluster, api, token } = await startApi(cleanup, scene)
  await Promise.all([cluster.worker('--concurrency', '1'), cluster.worker('--concurrency', '1')])
  const [name] = await namesIn(scene.corpus)
  for (let start = 0; start < STARTS; start += 1) {
    const body = { repositories: [name] }
    const { id } = await post(cluster, api, token, '/user/migrations', body)
    await untilEnded(cluster, api, token, id)
  }
  const client = new pg.Client(cluster.databaseUrl)
  await client.connect()
  const { rows } = await client.query('select started_at - created_at as ms from migrations')
  await client.end()
  return rows.map(({ ms }) => Number(ms))
}

/** Status reads a second of the same migration, on either database, one after the other. */
export async function readRates(scene: Scene): Promise<{ postgres: number; sqlite: number }> {
  await using cleanup = new Cleanup()
  const { cluster, api, token } = await startApi(cleanup, scene)
  const repositories = (await namesIn(scene.corpus)).slice(0, 5)
  const worker = await cluster.worker()
  const { id } = await post(cluster, api, token, '/user/migrations', { repositories })
  await untilEnded(cluster, api, token, id)
  await worker.kill('SIGTERM')
  const postgres = await readsASecond(`${api.url}/user/migrations/1`, token)
  await api.kill('SIGTERM')

  const alone = await startService(cleanup, {
    repositories: scene.corpus,
    flags: [...QUIET, ...UNREFUSED],
  })
  const itsToken = await alone.token(OWNER)
  const body = JSON.stringify({ repositories })
  await alone.call(itsToken, '/user/migrations', { method: 'POST', body })
  await untilServiceEnded(alone, itsToken, 1)
  return { postgres, sqlite: await readsASecond(`${alone.url}/user/migrations/1`, itsToken) }
}

async function startApi(cleanup: Cleanup, { corpus, postgres }: Scene) {
  const databaseUrl = await createDatabase(postgres.url)
  const flags = [...QUIET, ...UNREFUSED]
  const cluster = await startCluster(cleanup, { repositories: corpus, databaseUrl, flags })
  const token = await cluster.token(OWNER)
  return { cluster, token, api: await cluster.api() }
}

async function namesIn(corpus: string): Promise<string[]> {
  const names = await readdir(join(corpus, OWNER))
  return names.map((name) => name.slice(0, -'.git'.length))
}

async function readsASecond(url: string, token: string): Promise<number> {
  const headers = { authorization: `bearer ${token}`, accept: PREVIEW, 'user-agent': 'bench' }
  await requestsPerSecond({ url, headers, seconds: 1 })
  return requestsPerSecond({ url, headers, seconds: READ_SECONDS })
}

/** Stands in for a test's context: what was started is stopped at the end, last first. */
class Cleanup extends AsyncDisposableStack {
  after(stop: () => Promise<void>): void {
    this.defer(stop)
  }
}
