import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../test/support/description-server.ts'
import { ensureAccount } from '../../accounts/account-store.ts'
import { createAuthenticator } from '../../accounts/authenticator.ts'
import { addToken } from '../../accounts/token-store.ts'
import type { ServerDependencies } from '../server-dependencies.ts'

const HOUR = 3_600_000

async function createApp(t: TestContext, more: Partial<ServerDependencies> = {}) {
  const { db } = await openDatabase(t, 'sqlite')
  let elapsed = 0
  const now = () => Date.now() + elapsed
  const accountOf = async (login: string) => {
    const account = await ensureAccount(db, login, now())
    return `bearer ${await addToken(db, account, { name: '', expiresAt: null, now: now() })}`
  }
  const token = await accountOf('alice')
  const text: string[] = []
  const log = pino({ base: null }, { write: (line: string) => text.push(line) })
  const authenticator = createAuthenticator({ db, now })
  const isIndexRead = () => true
  const dependencies = { db, now, log, authenticator, isIndexRead, ...more }
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, dependencies)
  const request = async (
    authorization: string | undefined,
    headers: Record<string, string> = {},
  ) => {
    const sent = { 'user-agent': 'test', ...(authorization && { authorization }), ...headers }
    const { statusCode } = await app.inject({ url: '/user', headers: sent })
    return statusCode
  }
  const pass = (ms: number) => {
    elapsed += ms
  }
  return { db, request, app, token, accountOf, text, pass }
}

const basic = (text: string) => `basic ${Buffer.from(text).toString('base64')}`

test('a token is the password of basic authentication, or the user name without a password', async (t) => {
  const { request, app, token } = await createApp(t)
  const secret = token.replace('bearer ', '')
  for (const text of [`alice:${secret}`, `x-access-token:${secret}`, `oauth2:${secret}`])
    assert.equal(await request(basic(text)), 200, text)
  for (const text of [`${secret}:x-oauth-basic`, `${secret}:`, secret])
    assert.equal(await request(basic(text)), 200, text)
  for (const text of ['alice:password', `${secret}:password`, 'alice:'])
    assert.equal(await request(basic(text)), 401, text)
  // Clients without a token send this with every request.
  const anonymous = { authorization: basic(':'), 'user-agent': 'test' }
  const { statusCode } = await app.inject({ url: '/versions', headers: anonymous })
  assert.equal(statusCode, 200)
  assert.equal(await request(basic(':')), 401)
})

test('basic credentials that a browser sends to a proxy do not replace a session', async (t) => {
  const { request, app, token } = await createApp(t)
  const page = { 'x-godwit-session': '1', 'user-agent': 'test' }
  const proxy = basic('alice:of-the-proxy')
  const payload = { token: token.replace('bearer ', '') }
  const headers = { ...page, authorization: proxy }
  const opened = await app.inject({ method: 'POST', url: '/session', headers, payload })
  assert.equal(opened.statusCode, 201)
  const cookie = String(opened.headers['set-cookie']).split(';')[0]!
  assert.equal(await request(proxy, { ...page, cookie }), 200)
  assert.equal(await request(proxy, page), 401)
  assert.equal(await request(proxy, { cookie }), 401)
  const foreign = { ...page, cookie, 'sec-fetch-site': 'cross-site' }
  assert.equal(await request(proxy, foreign), 401)
})

test('a server without a rate limit says so, as GitHub Enterprise Server does', async (t) => {
  const { app, token } = await createApp(t)
  const headers = { authorization: token, 'user-agent': 'test' }
  const response = await app.inject({ url: '/rate_limit', headers })
  assert.deepEqual(
    [response.statusCode, response.json().message],
    [404, 'Rate limiting is not enabled.'],
  )
})

test('a sentence is sent to clients that try the connection', async (t) => {
  const { app, token } = await createApp(t)
  for (const url of ['/zen', '/api/v3/zen']) {
    const headers = { 'user-agent': 'test', accept: 'text/plain' }
    const { statusCode, headers: sent } = await app.inject({ url, headers })
    assert.deepEqual([statusCode, sent['content-type']], [200, 'text/plain; charset=utf-8'])
    const wrong = { ...headers, authorization: `${token}x` }
    assert.equal((await app.inject({ url, headers: wrong })).statusCode, 401)
  }
})

test('too many bad credentials are rejected, but a valid token from the same address works', async (t) => {
  const { request, token } = await createApp(t)
  for (let n = 0; n <= 60; n++) assert.equal(await request(`bearer guess-${n}`), 401)
  assert.equal(await request('bearer guess'), 403)
  assert.equal(await request(token), 200)
  assert.equal(await request(undefined), 401)
  assert.equal(await request('bearer guess'), 403)
})

test('delayed rejections do not block other requests', async (t) => {
  const { request, token } = await createApp(t)
  for (let n = 0; n <= 60; n++) await request('bearer guess')
  const guesses = Promise.all(Array.from({ length: 200 }, () => request('bearer guess')))
  assert.equal(await request(token), 200)
  assert.deepEqual(new Set(await guesses), new Set([403]))
})

test('x-forwarded-for from an untrusted address is logged once an hour', async (t) => {
  const { request, app, text, pass } = await createApp(t)
  const warnings = () => text.filter((line) => line.includes('--trusted-proxies')).length
  await request(undefined)
  assert.equal(warnings(), 0)
  for (let n = 0; n < 3; n++) await request(undefined, { 'x-forwarded-for': `203.0.113.${n}` })
  assert.equal(warnings(), 1)
  pass(HOUR)
  await request(undefined, { 'x-forwarded-for': '203.0.113.7' })
  assert.equal(warnings(), 2)
  assert.match((await app.inject('/metrics')).body, /^godwit_http_untrusted_forwarding_total 4$/m)
})

test('x-forwarded-for from a trusted proxy is used without a warning', async (t) => {
  const { request, text } = await createApp(t, { trustedProxies: ['127.0.0.1'] })
  await request(undefined, { 'x-forwarded-for': '203.0.113.7' })
  assert.equal(text.filter((line) => line.includes('--trusted-proxies')).length, 0)
  assert.equal(JSON.parse(text.at(-1)!).from, '203.0.113.7')
})

test('the port that a trusted proxy adds to an address is not part of it', async (t) => {
  const { request, text } = await createApp(t, { trustedProxies: ['127.0.0.1', '192.0.2.0/24'] })
  const spellings = {
    '203.0.113.7:4711': '203.0.113.7',
    '[2001:db8::1]:4711': '2001:db8::1',
    '"[2001:db8::1]"': '2001:db8::1',
    '203.0.113.7:1, 192.0.2.1:80': '203.0.113.7',
    '203.0.113.7.9:80': '203.0.113.7.9:80',
  }
  for (const [sent, address] of Object.entries(spellings)) {
    await request(undefined, { 'x-forwarded-for': sent })
    assert.equal(JSON.parse(text.at(-1)!).from, address)
  }
})

test('a request that is not modified is free with a token and the ETag of the response', async (t) => {
  const { app, token } = await createApp(t, { rateLimit: { perHour: 100, pool: undefined } })
  const get = async (url: string, headers: Record<string, string>) => {
    const response = await app.inject({ url, headers: { 'user-agent': 'test', ...headers } })
    const { etag, 'x-ratelimit-used': used } = response.headers
    return { status: response.statusCode, used: Number(used), etag: String(etag) }
  }
  const [authorization, any] = [token, '*']
  const { etag } = await get('/licenses', {})
  const anonymous = [await get('/licenses', { 'if-none-match': any })]
  anonymous.push(await get('/licenses', { 'if-none-match': etag }))
  assert.deepEqual(
    anonymous.map(({ status, used }) => [status, used]),
    [
      [304, 2],
      [304, 3],
    ],
  )
  const used = []
  for (const sent of ['"x"', etag, any, `"x", ${any}`, etag])
    used.push((await get('/licenses', { authorization, 'if-none-match': sent })).used)
  assert.deepEqual(used, [1, 1, 2, 3, 3])
})

test('an account cannot fill the audit log with refused calls, nor hide those of another', async (t) => {
  const { db, app, token, accountOf } = await createApp(t)
  const call = (authorization: string) =>
    app.inject({ url: '/admin/tokens', headers: { 'user-agent': 'test', authorization } })
  for (let n = 0; n < 70; n++) assert.equal((await call(token)).statusCode, 404)
  await call(await accountOf('bob'))
  const entries = await db.selectFrom('audit_log').select('actor').execute()
  const counts = Object.groupBy(entries, ({ actor }) => actor)
  assert.deepEqual([counts.alice?.length, counts.bob?.length], [60, 1])
})

test('the log line of any request is valid JSON', async (t) => {
  const { request, text } = await createApp(t, { trustedProxies: ['127.0.0.1'] })
  const hostile = ['9.9.9.9"x', '9.9.9.9\\', '":200}', '\u00e9\u0080', '{', "';--"]
  for (const address of hostile) await request('bearer x', { 'x-forwarded-for': address })
  const lines = text.map((line) => JSON.parse(line) as { msg: string; from: string })
  const requests = lines.filter(({ msg }) => msg === 'request')
  assert.deepEqual(
    requests.map(({ from }) => from),
    hostile,
  )
})
