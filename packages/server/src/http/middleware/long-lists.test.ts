import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../test/support/description-server.ts'
import { ensureAccount } from '../../accounts/account-store.ts'
import { createAuthenticator } from '../../accounts/authenticator.ts'
import { addToken } from '../../accounts/token-store.ts'

const LIMITS = {
  ...{ maxConnections: 10, maxRequests: 1000, maxStreams: 10, maxStreamsPerAccount: 10 },
  clientTimeoutMs: 60_000,
}

async function migrationServer(t: TestContext) {
  const { db } = await openDatabase(t, 'sqlite')
  const now = Date.now
  const account = await ensureAccount(db, 'alice', now())
  const token = await addToken(db, account, { name: '', expiresAt: null, now: now() })
  const authenticator = createAuthenticator({ db, now })
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    db,
    now,
    authenticator,
    requestLimits: LIMITS,
  })
  const headers = { 'user-agent': 'test', authorization: `bearer ${token}` }
  const start = (body: unknown) =>
    app.inject({ method: 'POST', url: '/user/migrations', headers, payload: JSON.stringify(body) })
  return { app, start }
}

test('a list with too many elements is rejected with one error', async (t) => {
  const { start } = await migrationServer(t)
  for (const field of ['repositories', 'exclude']) {
    for (const element of [0, 'a']) {
      const response = await start({ repositories: ['a'], [field]: Array(10_001).fill(element) })
      assert.equal(response.statusCode, 422)
      assert.deepEqual(response.json().errors, [
        {
          resource: 'Migration',
          field,
          code: 'custom',
          message: 'A list may have at most 10000 elements.',
        },
      ])
    }
  }
})

test('at most 20 errors are returned', async (t) => {
  const { start } = await migrationServer(t)
  for (const [element, code] of [
    [0, 'invalid'],
    ['a/b/c', 'invalid'],
    ['a', 'already_exists'],
  ] as const) {
    const response = await start({ repositories: Array(10_000).fill(element) })
    assert.equal(response.statusCode, 422)
    const first = code === 'already_exists' ? 1 : 0
    assert.deepEqual(
      response.json().errors,
      Array.from({ length: 20 }, (_, n) => ({
        resource: 'Migration',
        field: 'repositories',
        code,
        index: first + n,
      })),
    )
  }
})

test('the health check responds while many huge lists are validated', async (t) => {
  const { app, start } = await migrationServer(t)
  let rejected = 0
  const huge = Array.from({ length: 24 }, async () => {
    const response = await start({ repositories: Array(500_000).fill(0) })
    assert.equal(response.statusCode, 422)
    assert.ok(response.rawPayload.length < 1000)
    rejected++
  })
  assert.equal((await app.inject('/healthz')).statusCode, 200)
  assert.ok(rejected < 24)
  await Promise.all(huge)
})
