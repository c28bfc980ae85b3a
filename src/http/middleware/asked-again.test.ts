import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { type Engine, onEachEngine, openDatabase } from '../../../test/support/databases.ts'
import { DEFAULT_MEDIA_TYPE, descriptionServer } from '../../../test/support/description-server.ts'
import { repositoryFacts } from '../../../test/support/facts.ts'
import { PREVIEW } from '../../../test/support/service.ts'
import { ensureAccount } from '../../accounts/account-store.ts'
import { createAuthenticator } from '../../accounts/authenticator.ts'
import { addToken, revokeToken } from '../../accounts/token-store.ts'
import { DEFAULT_OPTIONS } from '../../migrations/migration.ts'
import { insertMigration } from '../../migrations/migration-store.ts'

const OWN_TO_EACH_ANSWER = /^(date|x-github-request-id|x-ratelimit-.*)$/
const DAY = 86_400_000

/** A real server on a real database with one migration. */
async function serverWithMigration(t: TestContext, engine: Engine, { perHour = 100 } = {}) {
  const { db, pool } = await openDatabase(t, engine)
  const started = Date.now()
  let elapsed = 0
  const now = () => started + elapsed
  const owner = await ensureAccount(db, 'alice', started)
  const expiring = { name: 'test', expiresAt: started + DAY, now: started }
  const token = await addToken(db, owner, expiring)
  const repositories = [1, 2, 3].map((id) => repositoryFacts({ id, name: `r${id}`, owner }))
  const wanted = { guid: crypto.randomUUID(), owner, options: DEFAULT_OPTIONS, repositories }
  const { id } = await db
    .transaction()
    .execute((tx) => insertMigration(tx, { ...wanted, organizations: null, now: started }))

  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const authenticator = createAuthenticator({ db, now })
  const rateLimit = { perHour, pool }
  const isCatalogueRead = () => true
  const parts = { db, now, log, authenticator, rateLimit, isCatalogueRead }
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, parts)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const usual = { accept: PREVIEW, authorization: `bearer ${token}` }
  const ask = async (headers: Record<string, string> = {}, path = `/user/migrations/${id}`) => {
    const answer = await fetch(url + path, { headers: { ...usual, ...headers } })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }
  return {
    ask,
    db,
    owner,
    id,
    lines,
    pass: (ms: number) => {
      elapsed += ms
    },
  }
}

onEachEngine('a request that is asked again word for word', (engine) => {
  test('gets the same response, and is logged and counted', async (t) => {
    const { ask, id, lines } = await serverWithMigration(t, engine)
    const status = `/user/migrations/${id}`
    for (const path of [status, `${status}/repositories?per_page=2`]) {
      const [first, second] = [await ask({}, path), await ask({}, path)]
      assert.equal(second.body, first.body)
      assert.deepEqual(lasting(second.headers), lasting(first.headers))
      assert.equal(left(second), left(first) - 1)
      const requestId = second.headers.get('x-github-request-id')
      assert.notEqual(requestId, first.headers.get('x-github-request-id'))
      const { time, level, ms, ...line } = lines.find((each) => each.id === requestId)!
      const asked = { method: 'GET', path: path.split('?')[0], status: 200, login: 'alice' }
      assert.deepEqual(line, { ...asked, id: requestId, from: '127.0.0.1', msg: 'request' })
      assert.deepEqual([typeof time, level, typeof ms], ['number', 30, 'number'])
    }
    const counted = (await ask({}, '/metrics')).body
    const times = /^godwit_http_requests_total{.*migration_id",status="200"} (\d+)$/m.exec(counted)
    assert.equal(Number(times?.[1]), lines.filter(({ path }) => path === status).length)
  })

  test('gets 304 and does not count if nothing has changed', async (t) => {
    const { ask } = await serverWithMigration(t, engine)
    const known = { 'if-none-match': (await ask()).headers.get('etag')! }
    const [first, second] = [await ask(known), await ask(known)]
    assert.deepEqual([second.status, second.body], [304, ''])
    assert.deepEqual(lasting(second.headers), lasting(first.headers))
    assert.equal(left(second), left(first))
  })

  test('does not match the ETag of another database with the same id', async (t) => {
    const [before, after] = [
      await serverWithMigration(t, engine),
      await serverWithMigration(t, engine),
    ]
    assert.equal(before.id, after.id)
    const status = `/user/migrations/${after.id}`
    for (const path of [status, `${status}/repositories`, '/user/migrations']) {
      const etag = (await before.ask({}, path)).headers.get('etag')!
      assert.equal((await before.ask({ 'if-none-match': etag }, path)).status, 304, path)
      assert.equal((await after.ask({ 'if-none-match': etag }, path)).status, 200, path)
    }
  })

  test('sees every change', async (t) => {
    const { ask, db, id } = await serverWithMigration(t, engine)
    for (const state of ['exporting', 'failed', 'exported'] as const) {
      await ask()
      await ask()
      await db
        .updateTable('migrations')
        .set((row) => ({ state, version: row('version', '+', 1) }))
        .where('id', '=', id)
        .execute()
      assert.equal(JSON.parse((await ask()).body).state, state)
    }
    await db.deleteFrom('snapshots').execute()
    await db.deleteFrom('migrations').execute()
    assert.equal((await ask()).status, 404)
  })

  test('is rejected with a revoked or expired token', async (t) => {
    for (const end of ['revoked', 'ended']) {
      const { ask, db, pass } = await serverWithMigration(t, engine)
      await ask()
      assert.equal((await ask()).status, 200)
      if (end === 'ended') pass(DAY + 1)
      else await revokeToken(db, 1, Date.now())
      assert.equal((await ask()).status, 401, end)
    }
  })

  test('is rejected when the rate limit is used up, and not counted', async (t) => {
    const { ask } = await serverWithMigration(t, engine, { perHour: 3 })
    for (const remaining of [2, 1, 0]) assert.equal(left(await ask()), remaining)
    for (let time = 0; time < 3; time++) {
      const refused = await ask()
      assert.equal(refused.status, 403)
      assert.match(refused.body, /API rate limit exceeded/)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
    }
  })

  test('is a different request if any part of it differs', async (t) => {
    const { ask, db } = await serverWithMigration(t, engine)
    const other = await ensureAccount(db, 'mallory', Date.now())
    const token = await addToken(db, other, { name: 'other', expiresAt: null, now: Date.now() })
    await ask()
    await ask()
    assert.equal((await ask({ authorization: `bearer ${token}` })).status, 404)
    assert.equal((await ask({ authorization: `bearer ${token}x` })).status, 401)
    assert.equal((await ask({ accept: 'text/html' })).status, 415)
    assert.equal((await ask({ 'x-github-api-version': '1999-01-01' })).status, 400)
    assert.equal((await ask()).status, 200)
  })
})

const left = ({ headers }: { headers: Headers }) => Number(headers.get('x-ratelimit-remaining'))

function lasting(headers: Headers) {
  return Object.fromEntries(
    [...headers.entries()].filter(([name]) => !OWN_TO_EACH_ANSWER.test(name)),
  )
}
