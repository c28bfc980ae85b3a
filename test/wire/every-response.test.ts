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
      const { headers } = await server.ask('GET', `/user/migrations${path}`)
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
    const { ask } = await serverUnderTest()
    const versioned = (version?: string) =>
      ask('GET', '/user/migrations', { headers: { 'x-github-api-version': version } })
    for (const sent of [undefined, '2022-11-28']) {
      const { status, headers } = await versioned(sent)
      assert.deepEqual(
        [status, headers['x-github-api-version-selected']],
        [200, '2022-11-28'],
        `asked for ${sent}`,
      )
    }
    for (const unknown of ['2022-11-29', 'v3']) assert.equal((await versioned(unknown)).status, 400)
  })

  test('is an error without a user agent', async () => {
    const { ask } = await serverUnderTest()
    for (const path of ['/user', '/user/migrations', '/user/migrations/0', '/rate_limit']) {
      for (const agent of [undefined, '']) {
        const { status, body } = await ask('GET', path, { headers: { 'user-agent': agent } })
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
      const methods = list(preflight.headers['access-control-allow-methods'])
      for (const method of ['get', 'post', 'delete']) assert.ok(methods.includes(method), method)
      const allowed = list(preflight.headers['access-control-allow-headers'])
      for (const header of ['authorization', 'content-type', 'if-none-match']) {
        assert.ok(allowed.includes(header), header)
      }
    }
    for (const authorization of [`bearer ${server.token}`, 'bearer nonsense']) {
      const { headers } = await server.ask('GET', '/user', { headers: { origin, authorization } })
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.equal(headers['access-control-allow-credentials'], undefined)
      const exposed = list(headers['access-control-expose-headers'])
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
      const [here, there] = await both(server, path)
      assert.deepEqual([there.status, there.names], [200, here.names], path)
      assert.match(here.body, new RegExp(`"url":"${server.url}/user`))
      assert.match(there.body, new RegExp(`"url":"${server.url}/api/v3/user`))
      assert.equal(there.link, here.link?.replaceAll(server.url, `${server.url}/api/v3`))
    }
    assert.equal((await server.ask('GET', '/api/v3/rate_limit')).status, 200)
    assert.equal((await server.ask('GET', '/api/v3/nothing')).status, 404)
  })

  test('the repositories of a migration are also at the path of older clients', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    for (const query of ['', '?per_page=1', '?per_page=1&page=2']) {
      const [now, then] = [
        await server.ask('GET', `/user/migrations/${id}/repositories${query}`),
        await server.ask('GET', `/user/${id}/repositories${query}`),
      ]
      assert.equal(then.status, 200)
      assert.equal(withoutCloneTokens(then.body), withoutCloneTokens(now.body))
      const linkThen = now.headers.link?.toString().replaceAll('/user/migrations/', '/user/')
      assert.equal(then.headers.link, linkThen)
    }
    assert.equal((await server.ask('GET', '/user/0/repositories')).status, 404)
  })

  test('the API serves its own description', async () => {
    const server = await serverUnderTest()
    const anyone = { headers: { 'user-agent': 'godwit-wire-tests' } }
    const { status, headers, body } = await send('GET', `${server.url}/openapi.json`, anyone)
    assert.equal(status, 200)
    assert.match(headers['content-type']!, /^application\/json/)
    const paths = Object.keys(JSON.parse(body).paths)
    for (const path of ['', '/{migration_id}', '/{migration_id}/repositories']) {
      assert.ok(paths.includes(`/user/migrations${path}`), path)
    }
    const docs = await send('GET', `${server.url}/docs`, anyone)
    assert.equal(docs.status, 200)
    assert.match(docs.headers['content-type']!, /^text\/html/)
  })
})

const list = (header: string | undefined) => (header ?? '').toLowerCase().split(/\s*,\s*/)

/** Requests the same path under both prefixes; records differ only in their URLs. */
async function both(server: ServerUnderTest, path: string) {
  const answers = [await server.ask('GET', path), await server.ask('GET', `/api/v3${path}`)]
  const [here, there] = answers.map(({ status, headers, body }) => {
    const names = withoutCloneTokens(body).replaceAll(/"https?:[^"]*"/g, '"…"')
    return { status, body, names, link: headers.link?.toString() }
  })
  return [here!, there!] as const
}
