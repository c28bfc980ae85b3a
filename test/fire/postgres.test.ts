import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startCluster } from '../support/cluster.ts'
import { manyRepositories } from '../support/cluster-story.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { gitHost } from '../support/git-host.ts'
import { createDatabase, startCluster as startPostgres } from '../support/postgres.ts'
import { until } from '../support/wait-until.ts'

const RESTARTS = shortOrLong({ short: 2, long: 20 })

test('during restarts of PostgreSQL under load, clients get responses or 503 and lose nothing', async (t) => {
  const postgres = await startPostgres()
  t.after(postgres.stop)
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 3)
  const databaseUrl = await createDatabase(postgres.url)
  const flags = ['--rate-limit', '0', '--max-unfinished-migrations', '10000']
  const cluster = await startCluster(t, { repositories: host.root, databaseUrl, flags })
  const token = await cluster.token('alice')
  const api = await cluster.api()
  const start = { method: 'POST', body: JSON.stringify({ repositories: names }) }
  await cluster.call(api, token, '/user/migrations', start)

  const requests: [path: string, init?: RequestInit][] = [
    ['/user'],
    ['/user/repos'],
    ['/rate_limit'],
    ['/user/migrations'],
    ['/user/migrations/1'],
    ['/user/migrations/1/repositories'],
    ['/user/migrations/1/progress'],
    ['/user/migrations/1/report'],
    ['/user/migrations/1/archive'],
    ['/user/migrations/preflight', start],
    ['/user/migrations', start],
    ['/user/migrations/1/cancel', { method: 'POST' }],
    ['/user/migrations/1/archive', { method: 'DELETE' }],
  ]
  const load = new AbortController()
  const seen = new Map<number, number>()
  const wrong = new Set<string>()
  async function keepAsking([path, init]: (typeof requests)[number]): Promise<void> {
    while (!load.signal.aborted) {
      const answer = await cluster.call(api, token, path, init)
      await answer.arrayBuffer()
      const { status, headers } = answer
      seen.set(status, (seen.get(status) ?? 0) + 1)
      const isLater = status === 503 && headers.has('retry-after')
      if (status >= 500 && !isLater) wrong.add(`${init?.method ?? 'GET'} ${path}: ${status}`)
      // Clients respect Retry-After.
      if (isLater) await pause(20)
    }
  }
  const asking = requests.flatMap((request) => [keepAsking(request), keepAsking(request)])

  const answered = () => (seen.get(200) ?? 0) + (seen.get(201) ?? 0)
  for (let n = 0; n < RESTARTS; n++) {
    const [good, later] = [answered(), seen.get(503) ?? 0]
    await until('a service whose database is there answers', () => answered() > good + 200)
    await postgres.restart(() =>
      until('a 503 is seen while PostgreSQL is away', () => (seen.get(503) ?? 0) > later),
    )
  }
  const good = answered()
  await until('there are answers after the last restart', () => answered() > good + 20)
  load.abort()
  await Promise.all(asking)
  assert.deepEqual([...wrong], [], cluster.log().slice(-20_000))
  t.diagnostic(`${[...seen].map(([status, count]) => `${count} x ${status}`).join(', ')}`)
  reportFault(t, 'PostgreSQL restarted under load', RESTARTS, 'answered, or 503 with retry-after')
})
