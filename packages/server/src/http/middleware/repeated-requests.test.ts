import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { type Engine, onEachEngine, openDatabase } from '../../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../test/support/description-server.ts'
import { repositoryMetadata } from '../../../../../test/support/repository-metadata.ts'
import { PREVIEW } from '../../../../../test/support/service.ts'
import { ensureAccount } from '../../accounts/account-store.ts'
import { createAuthenticator } from '../../accounts/authenticator.ts'
import { addToken, revokeToken } from '../../accounts/token-store.ts'
import { DEFAULT_OPTIONS } from '../../migrations/migration.ts'
import { insertMigration } from '../../migrations/migration-store.ts'

const PER_RESPONSE_HEADERS = /^(date|x-github-request-id|x-ratelimit-.*)$/
const DAY = 86_400_000

/** Starts a server that listens on a port, with a database that has one migration of alice. */
async function serverWithMigration(t: TestContext, engine: Engine, { perHour = 100 } = {}) {
  const { db, pool } = await openDatabase(t, engine)
  const started = Date.now()
  let elapsed = 0
  const now = () => started + elapsed
  const owner = await ensureAccount(db, 'alice', started)
  const token = await addToken(db, owner, { name: 'test', expiresAt: started + DAY, now: started })
  const repositories = [1, 2, 3].map((id) => repositoryMetadata({ id, name: `r${id}`, owner }))
  const migration = { guid: crypto.randomUUID(), owner, options: DEFAULT_OPTIONS, repositories }
  const { id } = await db
    .transaction()
    .execute((tx) => insertMigration(tx, { ...migration, organizations: null, now: started }))

  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const authenticator = createAuthenticator({ db, now })
  const rateLimit = { perHour, pool }
  const isIndexRead = () => true
  const dependencies = { db, now, log, authenticator, rateLimit, isIndexRead }
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, dependencies)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const defaultHeaders = { accept: PREVIEW, authorization: `bearer ${token}` }
  const send = async (headers: Record<string, string> = {}, path = `/user/migrations/${id}`) => {
    const response = await fetch(url + path, { headers: { ...defaultHeaders, ...headers } })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  return {
    send,
    db,
    owner,
    id,
    lines,
    advanceClock: (ms: number) => {
      elapsed += ms
    },
  }
}

onEachEngine('a repeated identical request', (engine, testOnSqlite) => {
  test('gets the same response, is logged, and counts in the rate limit and the metrics', async (t) => {
    const { send, id, lines } = await serverWithMigration(t, engine)
    const status = `/user/migrations/${id}`
    for (const path of [status, `${status}/repositories?per_page=2`]) {
      const [first, second] = [await send({}, path), await send({}, path)]
      assert.equal(second.body, first.body)
      assert.deepEqual(stableHeaders(second.headers), stableHeaders(first.headers))
      assert.equal(remaining(second), remaining(first) - 1)
      const requestId = second.headers.get('x-github-request-id')
      assert.notEqual(requestId, first.headers.get('x-github-request-id'))
      const { time, level, ms, ...line } = lines.find((candidate) => candidate.id === requestId)!
      const logged = { method: 'GET', path: path.split('?')[0], status: 200, login: 'alice' }
      assert.deepEqual(line, { ...logged, id: requestId, from: '127.0.0.1', msg: 'request' })
      assert.deepEqual([typeof time, level, typeof ms], ['number', 30, 'number'])
    }
    const metrics = (await send({}, '/metrics')).body
    const count = /^godwit_http_requests_total{.*migration_id",status="200"} (\d+)$/m.exec(metrics)
    assert.equal(Number(count?.[1]), lines.filter(({ path }) => path === status).length)
  })

  testOnSqlite(
    'gets 304 and does not count against the rate limit if nothing has changed',
    async (t) => {
      const { send } = await serverWithMigration(t, engine)
      const conditional = { 'if-none-match': (await send()).headers.get('etag')! }
      const [first, second] = [await send(conditional), await send(conditional)]
      assert.deepEqual([second.status, second.body], [304, ''])
      assert.deepEqual(stableHeaders(second.headers), stableHeaders(first.headers))
      assert.equal(remaining(second), remaining(first))
    },
  )

  testOnSqlite(
    'gets 200, not 304, for the ETag of a migration with the same id in another database',
    async (t) => {
      const [original, other] = [
        await serverWithMigration(t, engine),
        await serverWithMigration(t, engine),
      ]
      assert.equal(original.id, other.id)
      const status = `/user/migrations/${other.id}`
      for (const path of [status, `${status}/repositories`, '/user/migrations']) {
        const etag = (await original.send({}, path)).headers.get('etag')!
        assert.equal((await original.send({ 'if-none-match': etag }, path)).status, 304, path)
        assert.equal((await other.send({ 'if-none-match': etag }, path)).status, 200, path)
      }
    },
  )

  test('returns every change of the migration at once', async (t) => {
    const { send, db, id } = await serverWithMigration(t, engine)
    for (const state of ['exporting', 'failed', 'exported'] as const) {
      await send()
      await send()
      await db
        .updateTable('migrations')
        .set((eb) => ({ state, version: eb('version', '+', 1) }))
        .where('id', '=', id)
        .execute()
      assert.equal(JSON.parse((await send()).body).state, state)
    }
    await db.deleteFrom('repository_lists').execute()
    await db.deleteFrom('migrations').execute()
    assert.equal((await send()).status, 404)
  })

  testOnSqlite('is rejected with a revoked or expired token', async (t) => {
    for (const tokenState of ['revoked', 'expired']) {
      const { send, db, advanceClock } = await serverWithMigration(t, engine)
      await send()
      assert.equal((await send()).status, 200)
      if (tokenState === 'expired') advanceClock(DAY + 1)
      else await revokeToken(db, 1, Date.now())
      assert.equal((await send()).status, 401, tokenState)
    }
  })

  testOnSqlite('is rejected every time once the rate limit is exceeded', async (t) => {
    const { send } = await serverWithMigration(t, engine, { perHour: 3 })
    for (const expected of [2, 1, 0]) assert.equal(remaining(await send()), expected)
    for (let attempt = 0; attempt < 3; attempt++) {
      const rejected = await send()
      assert.equal(rejected.status, 403)
      assert.match(rejected.body, /API rate limit exceeded/)
      assert.equal(remaining(rejected), 0)
    }
  })

  testOnSqlite(
    'does not affect a request with another token, media type or API version',
    async (t) => {
      const { send, db } = await serverWithMigration(t, engine)
      const other = await ensureAccount(db, 'mallory', Date.now())
      const token = await addToken(db, other, { name: 'other', expiresAt: null, now: Date.now() })
      await send()
      await send()
      assert.equal((await send({ authorization: `bearer ${token}` })).status, 404)
      assert.equal((await send({ authorization: `bearer ${token}x` })).status, 401)
      assert.equal((await send({ accept: 'text/html' })).status, 415)
      assert.equal((await send({ 'x-github-api-version': '1999-01-01' })).status, 400)
      assert.equal((await send()).status, 200)
    },
  )
})

const remaining = ({ headers }: { headers: Headers }) =>
  Number(headers.get('x-ratelimit-remaining'))

/** Returns the headers that are the same in every response to this request. */
function stableHeaders(headers: Headers) {
  return Object.fromEntries(
    [...headers.entries()].filter(([name]) => !PER_RESPONSE_HEADERS.test(name)),
  )
}
