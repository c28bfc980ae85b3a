import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { type SharedService, untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

type Json = Record<string, unknown>

interface State {
  migrations: Json
  running: Json[]
  queue: { jobs: number }
  throughput: { buckets: Record<string, number>[] }
  storage: Record<string, number>
  locks: { held: number; newest: Json[] }
  failures: { id: number; login: string; reason: string; repositories: Json[] }[]
  workers: Json[]
}

const SERVICE = '/admin/service'

/** Starts a service with an operator and two other accounts. */
async function scene(engine: 'sqlite' | 'postgres', t: Parameters<typeof startSharedService>[0]) {
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['alice/good', 'alice/other', 'bob/bad']) {
    await host.repository(name, { files: { a: name } })
  }
  await host.loseObjects('bob/bad')
  const service = await startSharedService(t, { repositories: host.root, engine })
  assert.match(
    await service.godwit('account', 'add', 'operator', '--site-admin'),
    /operator .* yes/,
  )
  const tokens = {
    operator: await service.token('operator'),
    alice: await service.token('alice'),
    bob: await service.token('bob'),
  }
  return { service, ...tokens }
}

async function migrate(service: SharedService, token: string, body: Json): Promise<void> {
  const init = { method: 'POST', body: JSON.stringify(body) }
  const { id } = (await (await service.call(token, '/user/migrations', init)).json()) as Json
  await untilEnded(service, token, id as number)
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`only the operator sees the whole service: ${engine}`, async (t) => {
    const { service, operator, alice, bob } = await scene(engine, t)
    await migrate(service, alice, { repositories: ['good', 'other'], lock_repositories: true })
    await migrate(service, alice, { repositories: ['good'] })
    await migrate(service, bob, { repositories: ['bad'] })

    const state = await untilListed(service, operator)
    assert.deepEqual(state.migrations, {
      pending: 0,
      exporting: 0,
      exported: 2,
      failed: 1,
      cancelled: 0,
    })
    assert.deepEqual([state.running, state.queue.jobs], [[], 0])
    const sum = (of: string) => state.throughput.buckets.reduce((all, each) => all + each[of]!, 0)
    assert.deepEqual(['repositories', 'reused', 'skipped', 'failed'].map(sum), [3, 1, 0, 1])
    assert.deepEqual(['migrations_exported', 'migrations_failed'].map(sum), [2, 1])
    assert.ok(sum('bytes') > 0 && sum('bytes_reused') > 0)
    const { segments, archives, free_bytes } = state.storage
    assert.deepEqual(
      [segments, archives],
      [6, 2],
      'two repositories, and metadata and manifest of two',
    )
    assert.ok(free_bytes! > 0)
    const held = await bytesIn(join(service.data, 'blobs'))
    const { used_bytes, archive_bytes, reuse_bytes, scratch_bytes } = state.storage
    assert.deepEqual([used_bytes, archive_bytes, reuse_bytes, scratch_bytes], [held, held, 0, 0])
    assert.equal(state.locks.held, 2)
    const { full_name, migration_id, login } = state.locks.newest[0]!
    assert.deepEqual([full_name, migration_id, login], ['alice/good', 1, 'alice'])
    const [failure] = state.failures
    assert.deepEqual([failure?.id, failure?.login], [3, 'bob'])
    assert.match(failure!.reason, /^bob\/bad/)
    assert.equal(failure!.repositories[0]!.full_name, 'bob/bad')
    const [worker] = state.workers
    assert.deepEqual([worker?.alive, worker?.role], [true, 'all'])

    await assertHidden(service, [alice, bob])
    await assertConditionalRequests(service, operator)
  })
}

async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** A process appears a moment after it listens. */
async function untilListed(service: SharedService, operator: string): Promise<State> {
  return until('a process is listed, and all exports have ended', async () => {
    const state = (await (await service.call(operator, SERVICE)).json()) as State
    return state.workers.length > 0 && state.storage.scratch_bytes === 0 && state
  })
}

async function assertHidden(service: SharedService, tokens: string[]): Promise<void> {
  for (const token of tokens) {
    for (const query of ['', '?period=week', '?period=nonsense']) {
      const response = await service.call(token, `${SERVICE}${query}`)
      const absent = await service.call(token, '/admin/nothing')
      assert.deepEqual([response.status, await response.text()], [404, await absent.text()])
    }
    const { site_admin } = (await (await service.call(token, '/user')).json()) as Json
    assert.equal(site_admin, false)
  }
  for (const path of [SERVICE, `/api/v3${SERVICE}`]) {
    assert.equal((await fetch(`${service.url}${path}`)).status, 401)
  }
}

async function assertConditionalRequests(service: SharedService, operator: string): Promise<void> {
  const wrong = await service.call(operator, `${SERVICE}?period=year`)
  assert.equal(wrong.status, 422)
  const { site_admin } = (await (await service.call(operator, '/user')).json()) as Json
  assert.equal(site_admin, true)
  // A minute or a heartbeat may fall between two reads: they must agree once.
  await until('an unchanged state gets 304', async () => {
    const first = await service.call(operator, SERVICE)
    const headers = { 'if-none-match': first.headers.get('etag')! }
    return (await service.call(operator, SERVICE, { headers })).status === 304
  })
}
