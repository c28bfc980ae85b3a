import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

test('metrics count requests by route, and the results of exports', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  await host.repository('alice/lost', { files: { a: '1' } })
  const service = await startSharedService(t, { repositories: host.root })
  await host.loseObjects('alice/lost')
  const token = await service.token('alice')
  for (const repositories of [['site'], ['site'], ['lost']]) {
    const body = JSON.stringify({ repositories })
    const started = await service.call(token, '/user/migrations', { method: 'POST', body })
    await untilEnded(service, token, ((await started.json()) as { id: number }).id)
  }
  await fetch(`${service.url}/nowhere/at/all/${token}`)

  const response = await fetch(`${service.url}/metrics`)
  assert.match(response.headers.get('content-type')!, /^text\/plain/)
  const text = await response.text()
  const value = (series: string) =>
    Number(new RegExp(`^${RegExp.escape(series)} (\\S+)$`, 'm').exec(text)?.[1])
  assert.equal(
    value('godwit_http_requests_total{method="POST",route="/user/migrations",status="201"}'),
    3,
  )
  assert.equal(value('godwit_http_requests_total{method="GET",route="none",status="404"}'), 1)
  assert.match(text, /^# TYPE godwit_http_request_seconds histogram$/m)
  const times = (rest: string) => value(`godwit_http_request_seconds_${rest}`)
  assert.equal(times('bucket{le="+Inf",route="none"}'), 1)
  assert.equal(times('count{route="/user/migrations"}'), 3)
  const buckets = ['0.001', '0.005', '0.02', '0.1', '0.5', '2', '10', '60', '+Inf'].map((le) =>
    times(`bucket{le="${le}",route="/user/migrations"}`),
  )
  assert.deepEqual(
    buckets,
    buckets.toSorted((a, b) => a - b),
  )
  assert.equal(buckets.at(-1), 3)
  assert.ok(times('sum{route="/user/migrations"}') > 0)
  const repositories = (outcome: string) => value(`godwit_repositories_total{outcome="${outcome}"}`)
  const results = ['exported', 'reused', 'skipped', 'failed']
  assert.deepEqual(results.map(repositories), [1, 1, 0, 1])
  const unfinished = (state: string) => value(`godwit_migrations{state="${state}"}`)
  assert.deepEqual(['pending', 'exporting'].map(unfinished), [0, 0])
  const ended = (outcome: string) => value(`godwit_migrations_ended_total{outcome="${outcome}"}`)
  assert.deepEqual(['exported', 'failed', 'cancelled'].map(ended), [2, 1, 0])
  assert.deepEqual(
    [value('godwit_workers{state="live"}'), value('godwit_workers{state="dead"}')],
    [1, 0],
  )
  assert.ok(value('godwit_disk_free_bytes{of="archives"}') > 0)
  assert.ok(value('godwit_repository_bytes_total{outcome="exported"}') > 0)
  assert.equal(value('godwit_reuse_ratio{of="repositories"}'), 0.5)
  assert.equal(value('godwit_reuse_ratio{of="bytes"}'), 0.5)
  const isUp = (name: string) => value(`godwit_dependency_up{dependency="${name}"}`)
  assert.deepEqual(['catalogue', 'database', 'blobs'].map(isUp), [1, 1, 1])
  assert.ok(!text.includes(token))
})
