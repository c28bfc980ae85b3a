import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../test/support/description-server.ts'
import { readDashboard } from './dashboard-files.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

const ZIPPED_SCRIPT = gzipSync('plain()')
const ZIPPED_PAGE = gzipSync('<!doctype html><p>page')

/** A build like Vite's, with a file beside it that must not be served. */
async function startServer(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), 'godwit-dashboard-'))
  t.after(() => rm(base, { recursive: true, force: true }))
  const dist = join(base, 'dist')
  await mkdir(join(dist, 'assets', 'deeper'), { recursive: true })
  await writeFile(join(base, 'secret.json'), '{}')
  await writeFile(join(dist, 'index.html'), '<!doctype html><p>page')
  await writeFile(join(dist, 'index.html.gz'), ZIPPED_PAGE)
  await writeFile(join(dist, 'docs.html'), '<!doctype html><p>docs')
  await writeFile(join(dist, 'godwit.svg'), '<svg/>')
  await writeFile(join(dist, 'assets', 'app-1a2b.js'), 'plain()')
  await writeFile(join(dist, 'assets', 'app-1a2b.js.br'), 'smallest')
  await writeFile(join(dist, 'assets', 'app-1a2b.js.gz'), ZIPPED_SCRIPT)
  await writeFile(join(dist, 'assets', 'notes.unknown'), 'not a served type')
  await writeFile(join(dist, 'assets', 'deeper', 'app.js'), 'not served')
  await symlink(join(base, 'secret.json'), join(dist, 'linked.json'))
  return descriptionServer(t, DEFAULT_MEDIA_TYPE, { dashboard: await readDashboard(dist) })
}

const asBrowser = (url: string, more = {}) => ({ url, headers: { accept: BROWSER, ...more } })

test('browsers get the page, other clients get the URLs of the API', async (t) => {
  const app = await startServer(t)
  const page = await app.inject(asBrowser('/'))
  assert.equal(page.statusCode, 200)
  assert.equal(page.body, '<!doctype html><p>page')
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(page.headers['cache-control'], 'no-cache')
  assert.equal(page.headers.vary, 'accept, accept-encoding')
  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html',
    'text/html;q=0.5, application/vnd.github+json',
    'text/html;q=0, */*',
  ]) {
    const { headers, body } = await app.inject({ url: '/', headers: accept ? { accept } : {} })
    assert.equal(headers['content-type'], 'application/json; charset=utf-8', `${accept}`)
    assert.equal(headers.vary, 'accept')
    assert.equal(JSON.parse(body).current_user_url, 'https://git.host.test/api/user')
  }
  for (const url of ['/api/v3', '/api/v3/']) {
    const { user_migrations_url: there } = (await app.inject(asBrowser(url))).json()
    assert.equal(there, 'https://git.host.test/api/api/v3/user/migrations{?page,per_page}')
  }
})

test('the page may load only its own files and connect only to its own server', async (t) => {
  const app = await startServer(t)
  for (const url of ['/', '/assets/app-1a2b.js', '/godwit.svg']) {
    const { headers } = await app.inject(asBrowser(url))
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' https://git.host.test; " +
        "img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.match(String(headers['permissions-policy']), /camera=\(\)/)
    assert.equal(headers['access-control-allow-origin'], undefined)
  }
})

test('files are sent compressed and cached forever', async (t) => {
  const app = await startServer(t)
  const cases: [
    accepted: string | undefined,
    encoding: string | undefined,
    body: string | Buffer,
  ][] = [
    [undefined, undefined, 'plain()'],
    ['identity', undefined, 'plain()'],
    ['gzip, deflate, br', 'br', 'smallest'],
    ['gzip', 'gzip', ZIPPED_SCRIPT],
    ['br;q=0, gzip;q=0.5', 'gzip', ZIPPED_SCRIPT],
  ]
  for (const [accepted, encoding, body] of cases) {
    const url = '/assets/app-1a2b.js'
    const more = accepted === undefined ? {} : { 'accept-encoding': accepted }
    const response = await app.inject(asBrowser(url, more))
    assert.equal(response.headers['content-encoding'], encoding)
    assert.deepEqual(response.rawPayload, Buffer.from(body))
    assert.equal(response.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(response.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(response.headers.vary, 'accept-encoding')
    const known = await app.inject(
      asBrowser(url, { ...more, 'if-none-match': response.headers.etag }),
    )
    assert.deepEqual([known.statusCode, known.body], [304, ''])
    const head = await app.inject({ ...asBrowser(url, more), method: 'HEAD' })
    assert.deepEqual([head.statusCode, head.body], [200, ''])
    assert.equal(head.headers['content-length'], String(body.length))
  }
  const page = await app.inject(asBrowser('/', { 'accept-encoding': 'br, gzip' }))
  assert.deepEqual(page.rawPayload, ZIPPED_PAGE)
  assert.equal((await app.inject('/godwit.svg')).headers['cache-control'], 'no-cache')
})

test('other paths do not exist', async (t) => {
  const app = await startServer(t)
  for (const url of [
    '/index.html',
    '/linked.json',
    '/assets/../secret.json',
    '/%2e%2e/secret.json',
  ]) {
    const { statusCode } = await app.inject({ url, headers: { 'user-agent': 'browser' } })
    assert.equal(statusCode, 404, url)
  }
  for (const url of [
    '/assets',
    '/assets/',
    '/assets/app-1a2b.js.br',
    '/assets/notes.unknown',
    '/assets/deeper/app.js',
    '/assets/..%2f..%2fsecret.json',
    '/assets/%00',
  ]) {
    const { statusCode, headers } = await app.inject(asBrowser(url, { 'user-agent': 'browser' }))
    assert.equal(statusCode, 404, url)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  }
})

test('without built pages, a page explains how to build them', async (t) => {
  const missing = await readDashboard(join(tmpdir(), 'godwit-no-such-directory'))
  assert.equal(missing, undefined)
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, { dashboard: missing })
  const { statusCode, body } = await app.inject(asBrowser('/'))
  assert.equal(statusCode, 200)
  assert.match(body, /pages are not built/)
  assert.equal((await app.inject('/')).json().current_user_url, 'https://git.host.test/api/user')
})

test('QUERY and TRACE get the methods of an address that exists', async (t) => {
  const app = await startServer(t)
  const headers = { 'user-agent': 'test' }
  for (const method of ['QUERY', 'TRACE'] as const) {
    for (const [url, allowed] of [
      ['/user/migrations', 'GET, HEAD, OPTIONS, POST'],
      ['/api/v3/user/migrations?page=2', 'GET, HEAD, OPTIONS, POST'],
      ['/user/hooks/7', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
      ['/session', 'DELETE, GET, HEAD, OPTIONS, POST'],
      ['/docs', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const response = await app.inject({ method: method as 'GET', url, headers })
      assert.deepEqual([response.statusCode, response.headers.allow], [405, allowed], url)
      assert.equal(response.json().message, 'Method Not Allowed')
    }
    for (const url of ['/none/of/these', '/api/v3/none', '/']) {
      const { statusCode } = await app.inject({ method: method as 'GET', url, headers })
      assert.equal(statusCode, url === '/' ? 405 : 404, url)
    }
  }
  const other = await app.inject({ method: 'PUT', url: '/user/migrations', headers })
  assert.equal(other.statusCode, 404)
})

test('the address of an owner redirects browsers to its page; other clients get 404', async (t) => {
  const app = await startServer(t)
  const { statusCode, headers } = await app.inject(asBrowser('/Alice'))
  assert.deepEqual([statusCode, headers.location], [302, './#/owners/Alice'])
  assert.equal(headers.vary, 'accept')
  const page = new URL(String(headers.location), 'https://git.host.test/api/Alice')
  assert.equal(page.href, 'https://git.host.test/api/#/owners/Alice')
  for (const accept of ['*/*', undefined, 'application/json, text/html;q=0.5']) {
    const sent = { 'user-agent': 'test', ...(accept && { accept }) }
    const refused = await app.inject({ url: '/Alice', headers: sent })
    assert.deepEqual([refused.statusCode, refused.json().message], [404, 'Not Found'])
  }
})

test('the address of a repository redirects to its page, without hiding paths of the API', async (t) => {
  const app = await startServer(t)
  const { statusCode, headers: sent } = await app.inject(asBrowser('/alice/Site.js'))
  assert.deepEqual([statusCode, sent.location], [302, '../#/repositories/alice/Site.js'])
  const page = new URL(String(sent.location), 'https://git.host.test/api/alice/Site.js')
  assert.equal(page.href, 'https://git.host.test/api/#/repositories/alice/Site.js')
  for (const url of [
    ...['/alice/site.git', '/alice/%2e%2e', '/alice/a%2Fb', '/alice/a%0d%0ab', '/alice/'],
    ...['/%2e%2e', '/a%2Fb', '/a%0d%0ab', '/alice.git', '/user', '/users', '/metrics'],
    ...['/user/nothing', '/orgs', '/repos/x', '/api/v3', '/assets/none.js', '/docs/x'],
  ]) {
    const { statusCode, headers } = await app.inject(asBrowser(url, { 'user-agent': 'test' }))
    assert.notEqual(statusCode, 302, url)
    assert.equal(headers.location, undefined, url)
  }
  for (const accept of ['application/json', 'application/vnd.github+json', '*/*', undefined]) {
    for (const url of ['/alice/site', '/search/issues', '/gists/starred', '/teams/1']) {
      const client = { ...(accept && { accept }), 'user-agent': 'test' }
      const refused = await app.inject({ url, headers: client })
      assert.deepEqual([refused.statusCode, refused.json().message], [404, 'Not Found'], url)
      assert.ok(refused.headers['x-github-request-id'])
    }
  }
})
