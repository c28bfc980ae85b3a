import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fakeServer, sendJson } from '../../../../test/support/fake-server.ts'
import { retryAfter } from './errors.ts'
import { requestSender } from './send-request.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const after = (headers: Record<string, string>) => retryAfter(new Headers(headers), NOW)

test('a pause is read from Retry-After in seconds or as a date, or from the reset of the rate limit', () => {
  assert.equal(after({ 'retry-after': '7' }), 7)
  assert.equal(after({ 'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT' }), 90)
  assert.equal(after({ 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' }), 0)
  const reset = String(NOW / 1000 + 60)
  assert.equal(after({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }), 60)
  assert.equal(after({ 'ratelimit-remaining': '0', 'ratelimit-reset': reset }), 60)
  assert.equal(after({ 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }), 30)
  assert.equal(after({ 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': reset }), undefined)
  assert.equal(after({ 'retry-after': 'soon' }), undefined)
  assert.equal(after({}), undefined)
})

const senderFor = (url: string) =>
  requestSender({ url, token: 't' }, { signal: new AbortController().signal, onWait() {} })

/** Starts a server that redirects every request to the same path of another address. */
const redirectTo = (t: TestContext, target: string) =>
  fakeServer(t, ({ path }, response) =>
    response.writeHead(301, { location: `${target}${path}` }).end(),
  )

test('a redirect to another origin is an error that names it, and does not get the token', async (t) => {
  const other = await fakeServer(t, (_request, response) => sendJson(response, 401, {}))
  const { url } = await redirectTo(t, other.url)
  const message = `${url} redirects to ${other.url}: the token was not sent there; check --url`
  await assert.rejects(senderFor(url)(`${url}/user`), { name: 'RequestRejected', message })
  assert.equal(other.requests[0]!.headers.authorization, undefined)
  const manual = await senderFor(url)(`${url}/user`, { redirect: 'manual' })
  assert.equal(manual.status, 301)
})

test('a redirect from http to https says what --url should be', async (t) => {
  for (const [url, target, advice] of [
    [
      'http://a.example',
      'https://a.example/user',
      'https://a.example: use --url https://a.example',
    ],
    [
      'http://a.example/api/v3',
      'https://a.example/api/v3/user',
      'https://a.example/api/v3: use --url https://a.example/api/v3',
    ],
    [
      'http://a.example',
      'https://a.example/sign-in?secret',
      'https://a.example: the token was not sent there; check --url',
    ],
  ] as const) {
    const response = Object.defineProperties(new Response('', { status: 401 }), {
      url: { value: target },
      redirected: { value: true },
    })
    const { mock } = t.mock.method(globalThis, 'fetch', async () => response)
    const message = `${url} redirects to ${advice}`
    await assert.rejects(senderFor(url)(`${url}/user`), { message })
    mock.restore()
  }
})

test('a redirect to a host that does not exist blames that host', async (t) => {
  const { url } = await redirectTo(t, 'http://nowhere.invalid')
  const message = `no such host: nowhere.invalid, where a request to ${url} leads: check --url and the network`
  await assert.rejects(senderFor(url)(`${url}/user`), { name: 'ServerUnreachable', message })
})
