import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { gitHost } from '../support/git-host.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const PAGE_HEADER = { 'x-godwit-session': '1' }
let service: SharedService
let alice: string

const fileCleanup = cleanupAfterFile()

before(async () => {
  const host = await gitHost()
  fileCleanup.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  service = await startSharedService(fileCleanup, { repositories: host.root })
  alice = await service.token('alice')
})

const send = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(`${service.url}${path}`, { redirect: 'manual', ...init })

async function signIn(
  token: string,
): Promise<{ status: number; cookie: string; setCookie: string }> {
  const body = JSON.stringify({ token })
  const response = await send('/session', { method: 'POST', body, headers: PAGE_HEADER })
  const setCookie = response.headers.get('set-cookie') ?? ''
  return { status: response.status, cookie: setCookie.split(';')[0]!, setCookie }
}

async function statusWith(headers: Record<string, string>, path = '/user'): Promise<number> {
  return (await send(path, { headers })).status
}

test('a token opens a session with a cookie that no script can read', async () => {
  const { status, cookie, setCookie } = await signIn(alice)
  assert.equal(status, 201)
  assert.match(setCookie, /^godwit_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  assert.ok(!setCookie.includes(alice))
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie }), 200)
  const session = await send('/session', { headers: { ...PAGE_HEADER, cookie } })
  assert.equal(session.headers.get('cache-control'), 'no-store')
  assert.equal(((await session.json()) as { user: { login: string } }).user.login, 'alice')
  assert.equal((await signIn('gwt_nonsense')).status, 401)
  assert.ok(!service.log().includes(cookie.split('=')[1]!), 'the cookie was logged')
})

test('a sign-in counts for the rate limit of its account', async () => {
  const used = async () => {
    const body = JSON.stringify({ token: alice })
    const { headers } = await send('/session', { method: 'POST', body, headers: PAGE_HEADER })
    return Number(headers.get('x-ratelimit-used'))
  }
  assert.equal(await used(), (await used()) - 1)
})

test('a sign-in without a token is a validation error that is not cached', async () => {
  const response = await send('/session', { method: 'POST', body: '{}', headers: PAGE_HEADER })
  assert.equal(response.status, 422)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  const { message, errors } = (await response.json()) as { message: string; errors: unknown }
  assert.deepEqual(
    { message, errors },
    {
      message: 'Validation Failed',
      errors: [{ resource: 'Token', field: 'token', code: 'missing_field' }],
    },
  )
})

test('over TLS the cookie is Secure and for this host only', async () => {
  const host = await gitHost()
  await using _ = host
  await host.repository('bob/site', { files: { a: '1' } })
  const cleanups: (() => unknown)[] = []
  const flags = ['--base-url', 'https://godwit.example.com']
  const secure = await startSharedService(
    { after: (cleanup) => void cleanups.push(cleanup as () => unknown) },
    { repositories: host.root, flags },
  )
  try {
    const body = JSON.stringify({ token: await secure.token('bob') })
    const response = await fetch(`${secure.url}/session`, {
      method: 'POST',
      body,
      headers: PAGE_HEADER,
    })
    assert.match(
      response.headers.get('set-cookie')!,
      /^__Host-godwit_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
  } finally {
    for (const cleanup of cleanups) await cleanup()
  }
})

test('a cookie without the header of our pages is ignored', async () => {
  const { cookie } = await signIn(alice)
  assert.equal(await statusWith({ cookie }), 401)
  const start = { method: 'POST', body: JSON.stringify({ repositories: ['site'] }) }
  assert.equal((await send('/user/migrations', { ...start, headers: { cookie } })).status, 401)
  for (const from of ['cross-site', 'same-site', 'none']) {
    const headers = { ...PAGE_HEADER, cookie, 'sec-fetch-site': from }
    assert.equal((await send('/user/migrations', { ...start, headers })).status, 401, from)
  }
  // Other origins cannot send the header: the preflight request of the browser is rejected.
  const preflight = await send('/user/migrations', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-godwit-session',
    },
  })
  assert.doesNotMatch(preflight.headers.get('access-control-allow-headers')!, /godwit-session/i)
  assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
  // Other origins cannot sign a user in or out.
  const body = JSON.stringify({ token: alice })
  assert.equal((await send('/session', { method: 'POST', body })).status, 403)
  assert.equal((await send('/session', { method: 'DELETE', headers: { cookie } })).status, 403)
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie }), 200)
})

test('signing out ends the session on the server, and so does the end of its token', async () => {
  const { cookie } = await signIn(alice)
  const signedOut = await send('/session', {
    method: 'DELETE',
    headers: { ...PAGE_HEADER, cookie },
  })
  assert.deepEqual(
    [signedOut.status, signedOut.headers.get('set-cookie')?.includes('Max-Age=0')],
    [204, true],
  )
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie }), 401)
  await until('both are in the log', () =>
    ['open', 'close'].every((what) => service.log().includes(`"audit":"session.${what}"`)),
  )

  const other = await service.token('alice', '--name', 'other')
  const { cookie: second } = await signIn(other)
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie: second }), 200)
  const [id] = /^\d+(?= +alice +other)/m.exec(await service.godwit('token', 'list'))!
  await service.godwit('token', 'remove', id)
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie: second }), 401)
})

test('signing out all browsers ends every session of the account and of nobody else', async () => {
  const cookies = [(await signIn(alice)).cookie, (await signIn(alice)).cookie]
  await service.godwit('account', 'add', 'carol')
  const { cookie: other } = await signIn(await service.token('carol'))
  const headers = { ...PAGE_HEADER, cookie: cookies[0]! }
  assert.equal((await send('/session?all=true', { method: 'DELETE', headers })).status, 204)
  for (const cookie of cookies) assert.equal(await statusWith({ ...PAGE_HEADER, cookie }), 401)
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie: other }), 200)
  assert.equal(await statusWith({ authorization: `bearer ${alice}` }), 200)
})

test('a request with a token ignores the cookie', async () => {
  const { cookie } = await signIn(alice)
  await service.godwit('account', 'add', 'bob')
  const bob = await service.token('bob')
  const response = await send('/user', {
    headers: { ...PAGE_HEADER, cookie, authorization: `bearer ${bob}` },
  })
  assert.equal(((await response.json()) as { login: string }).login, 'bob')
  assert.equal(await statusWith({ ...PAGE_HEADER, cookie, authorization: 'bearer wrong' }), 401)
})
