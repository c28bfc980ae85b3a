import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { type Engine, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../test/support/description-server.ts'
import { cleanupAfterFile } from '../../../../test/support/file-cleanup.ts'
import {
  type FakeForge,
  type Fault,
  startForge,
} from '../../../../test/support/forge/fake-forge.ts'
import { TIMEOUT_MS } from '../../../../test/support/wait-until.ts'
import { ensureAccount, listAccounts, upsertAccount } from '../accounts/account-store.ts'
import { createAuthenticator } from '../accounts/authenticator.ts'
import { addToken, findViewerByTokenId, listTokens } from '../accounts/token-store.ts'
import { openForgeSignIn } from './open-configured-forge.ts'

const MINUTE = 60_000
const ANN = 'a1'.repeat(20)
const BOB = 'b2'.repeat(20)

/** Starts a forge where Ann has a token, and several servers of Godwit with one database. */
async function scene(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  { servers = 1, deadlineMs = TIMEOUT_MS } = {},
) {
  const forge = await startForge()
  t.after(forge.stop)
  const ann = forge.world.addUser('Ann')
  forge.tokens.set(ANN, ann)
  const { db } = await openDatabase(t, engine)
  let elapsed = 0
  const now = () => Date.now() + elapsed
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
  const apps = Array.from({ length: servers }, () => {
    const signIn = openForgeSignIn({ db, now, log, forge: { url: forge.url, deadlineMs } })
    const authenticator = createAuthenticator({ db, now, forge: signIn })
    return descriptionServer(t, DEFAULT_MEDIA_TYPE, {
      db,
      now,
      log,
      authenticator,
      isIndexRead: () => true,
    })
  })
  const request = async (token: string, server = 0) => {
    const headers = { 'user-agent': 'test', authorization: `token ${token}` }
    const response = await apps[server]!.inject({ url: '/user', headers })
    return { status: response.statusCode, headers: response.headers, body: response.json() }
  }
  /** Sends a request with a session cookie, as the pages of this server do. */
  const browse = async (cookie: string) => {
    const headers = { 'user-agent': 'test', 'x-godwit-session': '1', cookie }
    return (await apps[0]!.inject({ url: '/user', headers })).statusCode
  }
  const signOut = async (cookie: string) => {
    const headers = { 'user-agent': 'test', 'x-godwit-session': '1', cookie }
    const response = await apps[0]!.inject({ method: 'DELETE', url: '/session', headers })
    return { status: response.statusCode, setCookie: String(response.headers['set-cookie']) }
  }
  const signIn = async (token: string) => {
    const headers = { 'user-agent': 'test', 'x-godwit-session': '1' }
    const response = await apps[0]!.inject({
      method: 'POST',
      url: '/session',
      headers,
      payload: { token },
    })
    return {
      status: response.statusCode,
      cookie: String(response.headers['set-cookie']).split(';')[0]!,
    }
  }
  return {
    browse,
    signIn,
    signOut,
    forge,
    ann,
    db,
    lines,
    request,
    statusOf: async (token: string, server = 0) => (await request(token, server)).status,
    advanceClock: (ms: number) => {
      elapsed += ms
    },
    now,
    tokenChecks: () => forge.requests.filter(({ path }) => path === '/api/v1/user').length,
  }
}

const setFault = (forge: FakeForge, fault: Fault) => {
  forge.faultFor = () => fault
}

onEachEngine('a token of the forge', (engine, testOnSqlite) => {
  testOnSqlite(
    'signs in its owner and creates the account; tokens of Godwit keep working',
    async (t) => {
      const { request, db, now, tokenChecks } = await scene(t, engine)
      const { status, body } = await request(ANN)
      assert.equal(status, 200)
      assert.equal(body.login, 'Ann')
      assert.equal(body.created_at, '2020-09-13T12:26:40Z')
      assert.equal(body.email, null)
      const [account] = await listAccounts(db)
      assert.equal(account!.type, 'User')
      assert.equal(account!.siteAdmin, false)
      const ours = await addToken(db, account!, { name: '', expiresAt: null, now: now() })
      assert.equal((await request(ours)).body.login, 'Ann')
      assert.equal(tokenChecks(), 1)
      assert.deepEqual(
        (await listTokens(db)).map(({ name }) => name),
        [''],
      )
    },
  )

  test('is checked once a minute, however many requests and processes there are', async (t) => {
    const { statusOf, tokenChecks, advanceClock } = await scene(t, engine, { servers: 2 })
    const many = () =>
      Promise.all(Array.from({ length: 100 }, (_, n) => statusOf(ANN, n % 2))).then((all) =>
        assert.deepEqual(new Set(all), new Set([200])),
      )
    await many()
    assert.equal(tokenChecks(), 1)
    advanceClock(MINUTE / 2)
    await many()
    assert.equal(tokenChecks(), 1)
    advanceClock(MINUTE / 2)
    await many()
    assert.equal(tokenChecks(), 2)
  })

  testOnSqlite(
    'that is revoked there is rejected within a minute, and checked at most once a minute',
    async (t) => {
      const { forge, ann, statusOf, tokenChecks, advanceClock } = await scene(t, engine, {
        servers: 2,
      })
      assert.equal(await statusOf(ANN), 200)
      forge.tokens.delete(ANN)
      assert.equal(await statusOf(ANN), 200)
      advanceClock(MINUTE)
      for (let n = 0; n < 20; n++) assert.equal(await statusOf(ANN, n % 2), 401)
      assert.equal(tokenChecks(), 2)
      forge.tokens.set(ANN, ann)
      advanceClock(MINUTE)
      assert.equal(await statusOf(ANN), 200)
    },
  )

  testOnSqlite(
    'is checked again when the clock was set back, and so is the token of a session',
    async (t) => {
      const { forge, statusOf, signIn, browse, advanceClock } = await scene(t, engine)
      const { cookie } = await signIn(ANN)
      assert.equal(await statusOf(ANN), 200)
      forge.tokens.delete(ANN)
      advanceClock(-60 * MINUTE)
      assert.equal(await browse(cookie), 401)
      assert.equal(await statusOf(ANN), 401)
    },
  )

  testOnSqlite(
    'is checked again when the clock was set back after the forge was unavailable',
    async (t) => {
      const { forge, statusOf, advanceClock } = await scene(t, engine)
      setFault(forge, { response: { status: 502 } })
      assert.equal(await statusOf(ANN), 503)
      forge.faultFor = () => undefined
      advanceClock(-60 * MINUTE)
      assert.equal(await statusOf(ANN), 200)
    },
  )

  testOnSqlite('keeps its clone tokens valid until the forge rejects it', async (t) => {
    const { statusOf, forge, db, now, advanceClock } = await scene(t, engine)
    assert.equal(await statusOf(ANN), 200)
    const { id } = await db.selectFrom('tokens').select('id').executeTakeFirstOrThrow()
    const holder = () => findViewerByTokenId(db, id, now())
    advanceClock(MINUTE)
    assert.equal((await holder())?.account.login, 'Ann')
    forge.tokens.delete(ANN)
    assert.equal(await statusOf(ANN), 401)
    assert.equal(await holder(), undefined)
  })

  testOnSqlite(
    'stays valid for a minute while the forge is unavailable; then the response is 503, not 401',
    async (t) => {
      const { forge, request, statusOf, advanceClock, lines } = await scene(t, engine)
      assert.equal(await statusOf(ANN), 200)
      setFault(forge, { response: { status: 502 } })
      advanceClock(MINUTE / 2)
      assert.equal(await statusOf(ANN), 200)
      advanceClock(MINUTE / 2)
      const unavailable = await request(ANN)
      assert.equal(unavailable.status, 503)
      assert.equal(unavailable.headers['retry-after'], '10')
      assert.match(unavailable.body.message, /^The forge does not respond/)
      assert.equal(unavailable.body.status, '503')
      const requests = forge.requests.length
      assert.equal(await statusOf(ANN), 503)
      assert.equal(forge.requests.length, requests, 'a request was sent to the unavailable forge')
      const warnings = lines
        .map((line) => JSON.parse(line).msg)
        .filter((msg) => /\b502\b/.test(msg))
      assert.equal(warnings.length, 1)
      forge.faultFor = () => undefined
      advanceClock(MINUTE)
      assert.equal(await statusOf(ANN), 200)
    },
  )

  testOnSqlite('is stored as a digest, and never logged', async (t) => {
    const { forge, statusOf, db, lines, advanceClock } = await scene(t, engine)
    await statusOf(ANN)
    await statusOf(BOB)
    setFault(forge, { response: { status: 500, body: { message: `what is ${ANN}?` } } })
    advanceClock(MINUTE)
    await statusOf(ANN)
    const rows = [
      ...(await db.selectFrom('tokens').selectAll().execute()),
      ...(await db.selectFrom('forge_token_checks').selectAll().execute()),
      ...(await db.selectFrom('accounts').selectAll().execute()),
    ]
    const stored = JSON.stringify(rows) + lines.join('')
    for (const secret of [ANN, BOB]) assert.ok(!stored.includes(secret.slice(0, 12)))
    assert.ok(forge.requests.every(({ path, query }) => !`${path}?${query}`.includes(ANN)))
    assert.equal(rows.length, 1 + 2 + 1)
  })

  testOnSqlite('of a renamed person keeps the account', async (t) => {
    const { forge, ann, request, statusOf, advanceClock, db } = await scene(t, engine)
    const { id } = (await request(ANN)).body
    ann.login = 'Anna'
    advanceClock(MINUTE)
    assert.deepEqual([(await request(ANN)).body].map((each) => [each.id, each.login])[0], [
      id,
      'Anna',
    ])
    // Another person gets the first login of Ann, and later her second login.
    const other = forge.world.addUser('ann')
    forge.tokens.set(BOB, other)
    const second = (await request(BOB)).body
    assert.notEqual(second.id, id)
    forge.tokens.delete(ANN)
    other.login = 'anna'
    advanceClock(MINUTE)
    const third = (await request(BOB)).body
    assert.deepEqual([third.id, third.login], [second.id, 'anna'])
    assert.equal(await statusOf(ANN), 401)
    assert.deepEqual(
      (await listAccounts(db)).map(({ login }) => login).sort(),
      [`Anna--${ann.id}`, 'anna'].sort(),
    )
  })

  testOnSqlite(
    'of a person with a reused login does not get the data of its former owner',
    async (t) => {
      const { forge, ann, request, advanceClock, db } = await scene(t, engine)
      const { id } = (await request(ANN)).body
      ann.login = 'Anna'
      // A synchronization creates this account if it finds the moved repositories before their owner signs in.
      await ensureAccount(db, 'anna', 0)
      advanceClock(MINUTE)
      assert.equal((await request(ANN)).body.login, 'Anna')
      forge.tokens.set(BOB, forge.world.addUser('ann'))
      const { body } = await request(BOB)
      assert.equal(body.login, 'ann')
      assert.notEqual(body.id, id)
    },
  )

  test('opens a browser session, which lasts as long as the token is valid', async (t) => {
    const { forge, signIn, browse, tokenChecks, advanceClock, db } = await scene(t, engine)
    const { status, cookie } = await signIn(ANN)
    assert.equal(status, 201)
    assert.equal(await browse(cookie), 200)
    assert.equal(tokenChecks(), 1)
    advanceClock(MINUTE)
    assert.equal(await browse(cookie), 200)
    assert.equal(await browse(cookie), 200)
    assert.equal(tokenChecks(), 2)
    const stored = JSON.stringify(await db.selectFrom('sessions').selectAll().execute())
    const encrypted = decodeURIComponent(cookie).split('.')[1]!
    const isSecretIn = (text: string) =>
      text.includes(ANN) || Buffer.from(text, 'base64url').includes(ANN.slice(0, 12))
    assert.ok(!isSecretIn(encrypted) && !isSecretIn(stored) && !stored.includes(encrypted))
    setFault(forge, { response: { status: 502 } })
    advanceClock(MINUTE)
    assert.equal(await browse(cookie), 503)
    forge.faultFor = () => undefined
    forge.tokens.delete(ANN)
    advanceClock(MINUTE)
    assert.equal(await browse(cookie), 401)
    assert.equal(await browse(`${cookie.slice(0, -3)}AAA`), 401)
    assert.equal((await signIn(ANN)).status, 401)
  })

  testOnSqlite('is not checked at sign-out, which works without the forge', async (t) => {
    const { forge, signIn, signOut, browse, lines, advanceClock } = await scene(t, engine)
    const { cookie } = await signIn(ANN)
    setFault(forge, { response: { status: 502 } })
    advanceClock(MINUTE)
    const { status, setCookie } = await signOut(cookie)
    assert.equal(status, 204)
    assert.match(setCookie, /Max-Age=0/)
    assert.equal(await browse(cookie), 401)
    const audits = lines.map((line) => JSON.parse(line)).filter(({ audit }) => audit)
    assert.deepEqual(
      audits.map(({ audit, login }) => [audit, login]),
      [
        ['session.open', 'Ann'],
        ['session.close', 'Ann'],
      ],
    )
  })

  testOnSqlite('makes its owner neither an organization nor a site admin', async (t) => {
    const { forge, statusOf, request, db, now } = await scene(t, engine)
    await upsertAccount(db, 'octo', { type: 'Organization' }, now())
    forge.tokens.set(BOB, forge.world.addUser('octo'))
    assert.equal(await statusOf(BOB), 401)
    const root = 'f'.repeat(40)
    forge.tokens.set(root, forge.world.users.get('root')!)
    assert.equal((await request(root)).body.site_admin, false)
  })

  testOnSqlite(
    'does not sign in as a site admin of the same login who never used the forge',
    async (t) => {
      const { forge, statusOf, request, db, now } = await scene(t, engine)
      await upsertAccount(db, 'bob', { siteAdmin: true }, now())
      forge.tokens.set(BOB, forge.world.addUser('Bob'))
      assert.equal(await statusOf(BOB), 401)
      assert.equal((await request(ANN)).status, 200)
      await upsertAccount(db, 'ann', { siteAdmin: true }, now())
      assert.equal((await request(ANN)).body.site_admin, true)
    },
  )
})

const FAULTS: Record<string, Fault> = {
  'a web page': {
    response: { headers: { 'content-type': 'text/html' }, bytes: Buffer.from('<html>') },
  },
  'a redirect': { response: { status: 302, headers: { location: 'http://127.0.0.1:1/' } } },
  'JSON of another shape': { response: { body: { message: 'hello' } } },
  'an unknown path': { response: { status: 404, body: {} } },
  'a truncated response': { cut: true },
  'a server error': { response: { status: 500, body: {} } },
  'a request to wait': { response: { status: 429, headers: { 'retry-after': '30' } } },
  'nothing before the timeout': { hang: true },
}

describe('a forge that responds', () => {
  const cleanup = cleanupAfterFile()
  let shared: ReturnType<typeof scene> | undefined

  for (const [at, [name, fault]] of Object.entries(FAULTS).entries()) {
    test(`with ${name} does not invalidate a token`, async () => {
      shared ??= scene(cleanup, 'sqlite', { deadlineMs: 3000 })
      const { forge, ann, statusOf, advanceClock } = await shared
      // A token that was never used here.
      const token = `c${at}`.repeat(20)
      forge.tokens.set(token, ann)
      setFault(forge, fault)
      assert.equal(await statusOf(token), 503)
      forge.faultFor = () => undefined
      advanceClock(MINUTE)
      assert.equal(await statusOf(token), 200)
    })
  }
})

test('a token without permission to read its owner is refused with a reason', async (t) => {
  const { forge, request } = await scene(t, 'sqlite')
  setFault(forge, { response: { status: 403, body: { message: 'token does not have scope' } } })
  const { status, body } = await request(ANN)
  assert.equal(status, 403)
  assert.match(body.message, /^The forge refuses this token. Create one with read:user, /)
})

test('a token that may read less than its owner is refused with the reason by every process, and ends its session', async (t) => {
  const { forge, request, signIn, browse, lines, advanceClock } = await scene(t, 'sqlite', {
    servers: 2,
  })
  const { cookie } = await signIn(ANN)
  forge.scopes.set(ANN, ['read:user', 'read:repository'])
  advanceClock(MINUTE)
  assert.equal(await browse(cookie), 401)
  for (const server of [0, 1]) {
    const { status, body } = await request(ANN, server)
    assert.equal(status, 403)
    assert.match(body.message, /^This token lacks read:issue, read:organization. Create one with /)
  }
  assert.equal((await signIn(ANN)).status, 403)
  assert.match(lines.join(), /a token of Ann is refused: This token lacks read:issue/)
  forge.scopes.delete(ANN)
  advanceClock(MINUTE)
  assert.equal((await request(ANN)).status, 200)
})

test('guessed tokens are not all sent to the forge, and signed-in users are not affected', async (t) => {
  const { statusOf, tokenChecks, advanceClock, now, db } = await scene(t, 'sqlite')
  assert.equal(await statusOf(ANN), 200)
  const guess = (n: number) => n.toString(16).padStart(40, '0')
  for (let n = 0; n <= 60; n++) assert.equal(await statusOf(guess(n)), 401)
  const requests = tokenChecks()
  assert.equal(await statusOf(guess(61)), 403)
  assert.equal(tokenChecks(), requests)
  advanceClock(MINUTE)
  assert.equal(await statusOf(ANN), 200)
  advanceClock(2 * MINUTE)
  await statusOf(ANN)
  const stored = await db.selectFrom('forge_token_checks').selectAll().execute()
  assert.equal(stored.length, 1, 'rejected tokens are deleted after a while')
  assert.ok(stored[0]!.check_again_at > now())
})

test('text that cannot be a forge token is not sent to the forge', async (t) => {
  const { forge, statusOf, db, now } = await scene(t, 'sqlite')
  const account = await ensureAccount(db, 'carl', now())
  const ours = await addToken(db, account, { name: '', expiresAt: null, now: now() })
  for (const token of [
    `${ours}x`,
    ours.slice(0, -1),
    `gwc_${'a'.repeat(40)}`,
    'short',
    'x'.repeat(5000),
  ])
    assert.equal(await statusOf(token), 401)
  assert.equal(forge.requests.length, 0)
})
