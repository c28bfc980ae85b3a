import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startCluster } from '../support/cluster.ts'
import { manyRepositories } from '../support/cluster-story.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { gitHost } from '../support/git-host.ts'
import { createDatabase, startPostgres } from '../support/postgres.ts'
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
  const unexpected = new Set<string>()
  async function sendRepeatedly([path, init]: (typeof requests)[number]): Promise<void> {
    while (!load.signal.aborted) {
      const response = await cluster.call(api, token, path, init)
      await response.arrayBuffer()
      const { status, headers } = response
      seen.set(status, (seen.get(status) ?? 0) + 1)
      const isTemporary = status === 503 && headers.has('retry-after')
      if (status >= 500 && !isTemporary)
        unexpected.add(`${init?.method ?? 'GET'} ${path}: ${status}`)
      // Clients respect Retry-After.
      if (isTemporary) await pause(20)
    }
  }
  const sending = requests.flatMap((request) => [sendRepeatedly(request), sendRepeatedly(request)])

  const successes = () => (seen.get(200) ?? 0) + (seen.get(201) ?? 0)
  for (let n = 0; n < RESTARTS; n++) {
    const [before, rejectedBefore] = [successes(), seen.get(503) ?? 0]
    await until('requests succeed while PostgreSQL runs', () => successes() > before + 200)
    await postgres.restart(() =>
      until(
        'a request gets 503 while PostgreSQL is down',
        () => (seen.get(503) ?? 0) > rejectedBefore,
      ),
    )
  }
  const before = successes()
  await until('requests succeed after the last restart', () => successes() > before + 20)
  load.abort()
  await Promise.all(sending)
  assert.deepEqual([...unexpected], [], cluster.log().slice(-20_000))
  t.diagnostic(`${[...seen].map(([status, count]) => `${count} x ${status}`).join(', ')}`)
  reportFault(t, 'PostgreSQL restarted under load', RESTARTS, 'a response, or 503 with Retry-After')
})
