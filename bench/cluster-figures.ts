import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startCluster } from '../test/support/cluster.ts'
import { post, untilEnded } from '../test/support/cluster-story.ts'
import { createDatabase, type PostgresServer as Postgres } from '../test/support/postgres.ts'
import { bind } from './cores.ts'
import { OWNER } from './corpus.ts'
import { seconds } from './measure.ts'

export interface Scene {
  /** A directory of `ada/NAME.git`. */
  corpus: string
  postgres: Postgres
  /** The flags of the blob store. Default: the data directory. */
  store?: string[]
}

const QUIET = ['--log-level', 'error', '--max-unfinished-migrations', '1000']
/** Requests are counted by the rate limiter but never rejected. */
const UNREFUSED = ['--rate-limit', '1000000000']
const STARTS = 20

/**
 * Measures the time from the start of a migration of all repositories until it is exported, by a worker with a
 * concurrency of 1 on each of these cores. The workers stand for machines with one core each; the API and PostgreSQL
 * may use all cores.
 */
export async function exportSeconds({ cores, ...scene }: Scene & { cores: readonly number[] }) {
  await using cleanup = new Cleanup()
  const started = await startApi(cleanup, scene)
  await Promise.all(
    cores.map(async (core) => {
      const worker = await started.cluster.worker('--concurrency', '1')
      await bind(worker.process.pid!, core)
    }),
  )
  const repositories = await namesIn(scene.corpus)
  return await seconds(() => exportBy(started, repositories))
}

/** Starts a migration and waits until it is exported. */
export async function exportBy(
  { cluster, api, token }: Awaited<ReturnType<typeof startApi>>,
  repositories: readonly string[],
): Promise<void> {
  const { id } = await post(cluster, api, token, '/user/migrations', { repositories })
  const state = await untilEnded(cluster, api, token, id)
  if (state !== 'exported') throw new Error(cluster.log())
}

/**
 * Measures the milliseconds from the insertion of a migration until an idle worker moves it to `exporting`, with
 * two workers.
 */
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

/** Starts an API process on a new database. It has no workers yet. */
export async function startApi(cleanup: Cleanup, { corpus, postgres, store = [] }: Scene) {
  const databaseUrl = await createDatabase(postgres.url)
  const flags = [...QUIET, ...UNREFUSED, ...store]
  const cluster = await startCluster(cleanup, { repositories: corpus, databaseUrl, flags })
  const token = await cluster.token(OWNER)
  return { cluster, token, api: await cluster.api() }
}

export async function namesIn(corpus: string): Promise<string[]> {
  const names = await readdir(join(corpus, OWNER))
  return names.map((name) => name.slice(0, -'.git'.length))
}

/** Replaces a test context: runs the cleanup functions at the end, last first. */
export class Cleanup extends AsyncDisposableStack {
  after(stop: () => Promise<void>): void {
    this.defer(stop)
  }
}
