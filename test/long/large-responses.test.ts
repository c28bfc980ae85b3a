import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { ensureAccount } from '../../packages/server/src/accounts/account-store.ts'
import { createAuthenticator } from '../../packages/server/src/accounts/authenticator.ts'
import { addToken } from '../../packages/server/src/accounts/token-store.ts'
import { type Db, statementBatches } from '../../packages/server/src/db/database.ts'
import { DEFAULT_OPTIONS } from '../../packages/server/src/migrations/migration.ts'
import { insertMigration } from '../../packages/server/src/migrations/migration-store.ts'
import { openDatabase } from '../support/databases.ts'
import { DEFAULT_MEDIA_TYPE, descriptionServer } from '../support/description-server.ts'
import { repositoryMetadata } from '../support/repository-metadata.ts'
import { PREVIEW } from '../support/service.ts'

const REPOSITORIES = 2500

/** Starts a server with an exported migration of very many repositories. */
async function startServer(t: Pick<TestContext, 'after'>) {
  const { db } = await openDatabase(t, 'sqlite')
  const now = Date.now
  const owner = await ensureAccount(db, 'alice', 0)
  const token = await addToken(db, owner, { name: '', expiresAt: null, now: now() })
  const id = await db.transaction().execute((tx) => insertExported(tx, owner))
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    ...{ db, now, authenticator: createAuthenticator({ db, now }) },
    blobs: { probe: async () => {} } as never,
  })
  const get = async (path: string, accept = PREVIEW) => {
    const headers = { 'user-agent': 'test', authorization: `bearer ${token}`, accept }
    const response = await app.inject({ url: `/user/migrations/${id}${path}`, headers })
    assert.equal(response.statusCode, 200, response.body.slice(0, 200))
    return response
  }
  const readEvents = async () => {
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const headers = { authorization: `bearer ${token}`, accept: 'text/event-stream' }
    const url = `http://127.0.0.1:${port}/user/migrations/${id}/progress`
    return (await fetch(url, { headers })).text()
  }
  return { get, readEvents }
}

async function insertExported(tx: Db, owner: Awaited<ReturnType<typeof ensureAccount>>) {
  const repositories = Array.from({ length: REPOSITORIES }, (_, index) =>
    repositoryMetadata({ id: index + 1, name: `repository-${index}`, owner }),
  )
  const migration = { guid: 'large', owner, options: DEFAULT_OPTIONS, organizations: null, now: 0 }
  const { id } = await insertMigration(tx, { ...migration, repositories })
  const rows = repositories.map((_, position) => ({
    ...{ migration_id: id, position, outcome: 'exported', segment_key: null, fingerprint: null },
    ...{ reason: null, warning: null, reused: 0, bytes_expected: 1, bytes_done: 1 },
    ...{ started_at: 1, finished_at: 2, finished_order: position + 1 },
  }))
  for (const batch of statementBatches(rows))
    await tx.insertInto('repository_exports').values(batch).execute()
  const ended = { state: 'exported', started_at: 1, ended_at: 2 }
  await tx.updateTable('migrations').set(ended).where('id', '=', id).execute()
  return id
}

/** Counts the turns of the event loop until the work has ended. */
async function turnsDuring<T>(work: Promise<T>): Promise<{ turns: number; result: T }> {
  let turns = 0
  let hasEnded = false
  const count = () => {
    turns++
    if (!hasEnded) setImmediate(count)
  }
  setImmediate(count)
  try {
    const result = await work
    return { turns, result }
  } finally {
    hasEnded = true
  }
}

let server: Awaited<ReturnType<typeof startServer>>

const cleanups: (() => unknown)[] = []

before(async () => {
  server = await startServer({ after: (cleanUp) => cleanups.push(cleanUp as () => unknown) })
})

after(async () => {
  for (const cleanUp of cleanups.reverse()) await cleanUp()
})

test('large responses are complete and do not block the event loop', async () => {
  const { get } = server
  const names = Array.from({ length: REPOSITORIES }, (_, index) => `alice/repository-${index}`)
  const namesIn = (body: string) =>
    (JSON.parse(body) as { repositories: { full_name: string }[] }).repositories.map(
      ({ full_name }) => full_name,
    )
  for (const path of ['', '/progress', '/report']) {
    const work = Promise.all(Array.from({ length: 4 }, () => get(path)))
    const { turns, result } = await turnsDuring(work)
    for (const { body } of result) assert.equal(namesIn(body).join(), names.join(), path)
    assert.ok(turns >= 4, `${path}: ${turns} turns`)
  }
})

test('an event stream of a large migration sends each repository once, and then the end', async () => {
  const { readEvents } = server
  const events = Array.from(
    (await readEvents()).matchAll(/^event: (\w+)\n(?:id: (\d+)\n)?data: /gm),
  )
  const ids = Array.from({ length: REPOSITORIES }, (_, index) => `repository ${index + 1}`)
  assert.equal(
    events.map(([, name, id]) => `${name} ${id}`).join(),
    [...ids, 'progress undefined', `end ${REPOSITORIES + 1}`].join(),
  )
})

test('a large progress response has a stable ETag', async () => {
  const { get } = server
  const first = await get('/progress')
  const second = await get('/progress')
  assert.equal(first.headers.etag, second.headers.etag)
  assert.equal(Number(first.headers['content-length']), Buffer.byteLength(first.body))
})

test('progress and report are JSON for clients that prefer JSON to events or text', async () => {
  const { get } = server
  for (const [path, other] of [
    ['/report', 'text/plain'],
    ['/progress', 'text/event-stream'],
  ] as const) {
    for (const accept of [`application/json, ${other}, */*`, `${other};q=0.1, application/json`]) {
      const { headers } = await get(path, accept)
      assert.equal(headers['content-type'], 'application/json; charset=utf-8', accept)
    }
  }
  const { headers } = await get('/report', 'text/plain, application/json;q=0.5')
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
})
