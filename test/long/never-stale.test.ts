import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../../packages/server/src/db/connect.ts'
import type { Db } from '../../packages/server/src/db/database.ts'
import { startCluster } from '../support/cluster.ts'
import {
  manyRepositories,
  post,
  untilEnded as untilClusterEnded,
} from '../support/cluster-story.ts'
import { gitHost } from '../support/git-host.ts'
import { untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const CHANGES = 10
type SendRequest = (path: string, init?: RequestInit) => Promise<Response>

test('one process on SQLite shows every change, also of other processes', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const repositories = await manyRepositories(host, 3)
  const service = await startSharedService(t, { repositories: host.root })
  const token = await service.token('alice')
  const send: SendRequest = (path, init) => service.call(token, path, init)
  const body = JSON.stringify({ repositories })
  const { id } = await jsonOf(await send('/user/migrations', { method: 'POST', body }))
  await untilEnded(service, token, id as number)

  const database = await connect({ dataDirectory: service.data, databaseUrl: undefined })
  t.after(database.close)
  await assertChangesVisible(database.db, id as number, [send])
  await assertDeletionVisible(id as number, send, [send])
  await service.godwit('token', 'remove', '1')
  assert.equal((await send(`/user/migrations/${id}`)).status, 401, 'a revoked token was accepted')
})

test('two processes on one PostgreSQL show every change of each other', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const repositories = await manyRepositories(host, 3)
  const cluster = await startCluster(t, { repositories: host.root })
  const token = await cluster.token('alice')
  const { databaseUrl, data } = cluster
  const exporter = await startSharedService(t, { repositories: host.root, databaseUrl, data })
  const apis = [await cluster.api(), exporter] as const
  const processes = apis.map(
    (api): SendRequest =>
      (path, init) =>
        cluster.call(api, token, path, init),
  )
  const { id } = await post(cluster, apis[0], token, '/user/migrations', { repositories })
  await untilClusterEnded(cluster, apis[1], token, id, 'exported')

  const database = await connect({ dataDirectory: '', databaseUrl })
  t.after(database.close)
  await assertChangesVisible(database.db, id as number, processes)
  await assertDeletionVisible(id as number, processes[0]!, processes)
  await database.db.updateTable('tokens').set({ revoked_at: Date.now() }).execute()
  for (const send of processes) assert.equal((await send(`/user/migrations/${id}`)).status, 401)
})

test('the URLs of a migration follow its organization to another login', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('octo/site', { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
  const service = await startSharedService(t, { repositories: host.root })
  const token = await service.token('alice')
  const send: SendRequest = (path, init) => service.call(token, path, init)
  const pathsOf = (login: string) => [
    `/orgs/${login}/migrations`,
    `/orgs/${login}/migrations/1`,
    `/orgs/${login}/migrations/1?exclude=repositories`,
  ]
  const body = JSON.stringify({ repositories: ['octo/site'] })
  assert.equal((await send('/orgs/octo/migrations', { method: 'POST', body })).status, 201)
  await until('the migration is exported', async () => {
    const { state } = await jsonOf(await send('/orgs/octo/migrations/1'))
    return state === 'exported'
  })
  const etags = await Promise.all(
    pathsOf('octo').map(async (path) => (await send(path)).headers.get('etag')!),
  )

  const database = await connect({ dataDirectory: service.data, databaseUrl: undefined })
  t.after(database.close)
  const columns = { login: 'octopus', login_key: 'octopus' }
  await database.db.updateTable('accounts').set(columns).where('login', '=', 'octo').execute()
  for (const [at, path] of pathsOf('octopus').entries()) {
    const response = await send(path, { headers: { 'if-none-match': etags[at]! } })
    assert.equal(response.status, 200, path)
    const [migration] = [await response.json()].flat() as Record<string, unknown>[]
    const url = `${service.url}/orgs/octopus/migrations/1`
    assert.deepEqual([migration?.url, migration?.archive_url], [url, `${url}/archive`], path)
  }
})

/** Writes changes directly to the database between reads: the processes can only notice the row itself. */
async function assertChangesVisible(
  db: Db,
  id: number,
  processes: readonly SendRequest[],
): Promise<void> {
  const paths = [`/user/migrations/${id}`, `/user/migrations/${id}?exclude=repositories`]
  const etags = new Map<string, string>()
  for (let change = 0; change < CHANGES; change += 1) {
    const state = change % 2 === 0 ? 'failed' : 'exported'
    await db
      .updateTable('migrations')
      .set((row) => ({ state, version: row('version', '+', 1) }))
      .where('id', '=', id)
      .execute()
    for (const [at, send] of processes.entries()) {
      for (const path of paths) {
        const key = `${at} ${path}`
        const headers = { 'if-none-match': etags.get(key) ?? 'W/"none"' }
        const response = await send(path, { headers })
        assert.equal(response.status, 200, `change ${change} of ${path} in process ${at}`)
        assert.equal((await jsonOf(response)).state, state, `change ${change} in process ${at}`)
        etags.set(key, response.headers.get('etag')!)
        // Unchanged responses come from the cache.
        const again = await send(path, { headers: { 'if-none-match': etags.get(key)! } })
        assert.equal(again.status, 304)
        assert.equal((await jsonOf(await send(path))).state, state)
      }
      const [listed] = (await (await send('/user/migrations')).json()) as { state: string }[]
      assert.equal(listed?.state, state)
    }
  }
}

async function assertDeletionVisible(
  id: number,
  deleting: SendRequest,
  all: readonly SendRequest[],
) {
  const path = `/user/migrations/${id}`
  for (const send of all) assert.ok((await jsonOf(await send(path))).archive_url)
  assert.equal((await deleting(`${path}/archive`, { method: 'DELETE' })).status, 204)
  for (const send of all) assert.equal((await jsonOf(await send(path))).archive_url, undefined)
}

async function jsonOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}
