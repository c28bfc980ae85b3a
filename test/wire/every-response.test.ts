import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withoutCloneTokens } from '../support/service.ts'
import { exportMigration } from './export-migration.ts'
import { send } from './http-request.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

describe('every response', () => {
  test('has the headers that clients read', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    const requestIds = new Set<unknown>()
    for (const path of ['', `/${id}`, `/${id}/repositories`]) {
      const { headers } = await server.request('GET', `/user/migrations${path}`)
      assert.equal(headers['content-type'], 'application/json; charset=utf-8')
      assert.equal(headers['cache-control'], 'private, no-cache')
      assert.equal(headers.vary, 'Accept, Authorization, Cookie, X-GitHub-OTP')
      assert.equal(headers['x-github-media-type'], 'github.wyandotte-preview; format=json')
      assert.equal(typeof headers['x-oauth-scopes'], 'string')
      assert.equal(headers['x-accepted-oauth-scopes'], '')
      assert.equal(headers['last-modified'], undefined)
      requestIds.add(headers['x-github-request-id'])
    }
    assert.ok(!requestIds.has(undefined))
    assert.equal(requestIds.size, 3)
  })

  test('has the requested API version', async () => {
    const { request } = await serverUnderTest()
    const requestVersion = (version?: string) =>
      request('GET', '/user/migrations', { headers: { 'x-github-api-version': version } })
    for (const sent of [undefined, '2022-11-28']) {
      const { status, headers } = await requestVersion(sent)
      assert.deepEqual(
        [status, headers['x-github-api-version-selected']],
        [200, '2022-11-28'],
        `requested ${sent}`,
      )
    }
    for (const unknown of ['2022-11-29', 'v3'])
      assert.equal((await requestVersion(unknown)).status, 400)
  })

  test('is an error without a user agent', async () => {
    const { request } = await serverUnderTest()
    for (const path of ['/user', '/user/migrations', '/user/migrations/0', '/rate_limit']) {
      for (const agent of [undefined, '']) {
        const { status, body } = await request('GET', path, { headers: { 'user-agent': agent } })
        assert.equal(status, 403, path)
        assert.match(
          JSON.parse(body).message,
          /^Request forbidden by administrative rules\. Please make sure your request has a User-Agent header/,
        )
      }
    }
  })

  test('can be read by a page in a browser', async () => {
    const server = await serverUnderTest()
    const origin = 'https://pages.example.com'
    for (const path of ['/user', '/user/migrations', '/user/migrations/1/archive', '/nothing']) {
      // The preflight request of a browser has no credentials.
      const preflight = await send('OPTIONS', `${server.url}${path}`, {
        headers: {
          origin,
          'access-control-request-method': 'DELETE',
          'access-control-request-headers': 'authorization, x-github-api-version',
        },
      })
      assert.deepEqual([preflight.status, preflight.body], [204, ''], path)
      assert.equal(preflight.headers['access-control-allow-origin'], '*')
      const methods = listOf(preflight.headers['access-control-allow-methods'])
      for (const method of ['get', 'post', 'delete']) assert.ok(methods.includes(method), method)
      const allowed = listOf(preflight.headers['access-control-allow-headers'])
      for (const header of ['authorization', 'content-type', 'if-none-match']) {
        assert.ok(allowed.includes(header), header)
      }
    }
    for (const authorization of [`bearer ${server.token}`, 'bearer nonsense']) {
      const { headers } = await server.request('GET', '/user', {
        headers: { origin, authorization },
      })
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.equal(headers['access-control-allow-credentials'], undefined)
      const exposed = listOf(headers['access-control-expose-headers'])
      for (const header of ['etag', 'link', 'location', 'x-ratelimit-remaining']) {
        assert.ok(exposed.includes(header), header)
      }
    }
  })
})

describe('alternative paths', () => {
  test('everything is available under /api/v3 too', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    for (const path of [
      '/user',
      `/user/migrations/${id}`,
      `/user/migrations/${id}/repositories?per_page=1`,
    ]) {
      const [plain, prefixed] = await requestBoth(server, path)
      assert.deepEqual([prefixed.status, prefixed.names], [200, plain.names], path)
      assert.match(plain.body, new RegExp(`"url":"${server.url}/user`))
      assert.match(prefixed.body, new RegExp(`"url":"${server.url}/api/v3/user`))
      assert.equal(prefixed.link, plain.link?.replaceAll(server.url, `${server.url}/api/v3`))
    }
    assert.equal((await server.request('GET', '/api/v3/rate_limit')).status, 200)
    assert.equal((await server.request('GET', '/api/v3/nothing')).status, 404)
  })

  test('the repositories of a migration are also at the path of older clients', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    for (const query of ['', '?per_page=1', '?per_page=1&page=2']) {
      const [current, former] = [
        await server.request('GET', `/user/migrations/${id}/repositories${query}`),
        await server.request('GET', `/user/${id}/repositories${query}`),
      ]
      assert.equal(former.status, 200)
      assert.equal(withoutCloneTokens(former.body), withoutCloneTokens(current.body))
      const formerLink = current.headers.link?.toString().replaceAll('/user/migrations/', '/user/')
      assert.equal(former.headers.link, formerLink)
    }
    assert.equal((await server.request('GET', '/user/0/repositories')).status, 404)
  })

  test('the API serves its own description', async () => {
    const server = await serverUnderTest()
    const anonymous = { headers: { 'user-agent': 'godwit-wire-tests' } }
    const { status, headers, body } = await send('GET', `${server.url}/openapi.json`, anonymous)
    assert.equal(status, 200)
    assert.match(headers['content-type']!, /^application\/json/)
    const paths = Object.keys(JSON.parse(body).paths)
    for (const path of ['', '/{migration_id}', '/{migration_id}/repositories']) {
      assert.ok(paths.includes(`/user/migrations${path}`), path)
    }
    const docs = await send('GET', `${server.url}/docs`, anonymous)
    assert.equal(docs.status, 200)
    assert.match(docs.headers['content-type']!, /^text\/html/)
  })
})

const listOf = (header: string | undefined) => (header ?? '').toLowerCase().split(/\s*,\s*/)

/** Requests the same path under both prefixes; records differ only in their URLs. */
async function requestBoth(server: ServerUnderTest, path: string) {
  const responses = [
    await server.request('GET', path),
    await server.request('GET', `/api/v3${path}`),
  ]
  const [plain, prefixed] = responses.map(({ status, headers, body }) => {
    const names = withoutCloneTokens(body).replaceAll(/"https?:[^"]*"/g, '"…"')
    return { status, body, names, link: headers.link?.toString() }
  })
  return [plain!, prefixed!] as const
}
