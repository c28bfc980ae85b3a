import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withoutCloneTokens } from '../support/service.ts'
import { exportMigration } from './export-migration.ts'
import { ownServer, serverUnderTest } from './server-under-test.ts'

const KEPT_HEADERS = ['etag', 'cache-control', 'vary', 'link'] as const
const VARYING_HEADERS = /^(date|x-github-request-id|x-ratelimit-.*)$/

describe('conditional requests', () => {
  test('a response that the client has is not sent again', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    for (const path of [
      '/user',
      `/user/migrations/${id}`,
      `/user/migrations/${id}/repositories?per_page=1`,
      `/user/${id}/repositories`,
    ]) {
      const full = await server.request('GET', path)
      assert.equal(full.status, 200, path)
      assert.match(full.headers.etag!, /^W\/"[^"]+"$/)
      for (const sent of [
        full.headers.etag!,
        `"other", ${full.headers.etag}`,
        full.headers.etag!.slice(2),
        '*',
      ]) {
        const again = await server.request('GET', path, { headers: { 'if-none-match': sent } })
        assert.deepEqual([again.status, again.body], [304, ''], `${path} with ${sent}`)
        for (const name of KEPT_HEADERS) assert.equal(again.headers[name], full.headers[name])
      }
      const other = await server.request('GET', path, { headers: { 'if-none-match': 'W/"other"' } })
      assert.equal(other.status, 200)
      assert.equal(withoutCloneTokens(other.body), withoutCloneTokens(full.body))
    }
  })

  test('a client that polls with an ETag sees a change', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    const paths = [`/user/migrations/${id}`, '/user/migrations?per_page=100']
    const before = await Promise.all(paths.map((path) => server.request('GET', path)))
    assert.equal((await server.request('DELETE', `/user/migrations/${id}/archive`)).status, 204)
    for (const [at, path] of paths.entries()) {
      const headers = { 'if-none-match': before[at]!.headers.etag! }
      const after = await server.request('GET', path, { headers })
      assert.equal(after.status, 200, path)
      assert.doesNotMatch(after.body, new RegExp(`/user/migrations/${id}/archive"`))
    }
  })

  test('another query or media type has another ETag', async () => {
    const server = await serverUnderTest()
    const path = `/user/migrations/${await exportMigration(server)}`
    const paths = ['', '?exclude=repositories', '/repositories?per_page=1', '/repositories?page=2']
    const responses = paths.map((suffix) => server.request('GET', `${path}${suffix}`))
    const etags = (await Promise.all(responses)).map(({ headers }) => headers.etag)
    assert.equal(new Set(etags).size, paths.length)
  })

  test(
    'a 304 does not count against the rate limit, and HEAD counts like GET',
    ownServer,
    async () => {
      const server = await serverUnderTest()
      const { headers } = await server.request('GET', '/user/migrations')
      const before = Number(headers['x-ratelimit-remaining'])
      const known = { headers: { 'if-none-match': headers.etag! } }
      const remaining = async (method: string, more?: typeof known) =>
        Number(
          (await server.request(method, '/user/migrations', more)).headers['x-ratelimit-remaining'],
        )
      assert.equal(await remaining('GET', known), before)
      assert.equal(await remaining('HEAD', known), before)
      assert.equal(await remaining('HEAD'), before - 1)
      assert.equal(await remaining('GET'), before - 2)
    },
  )

  test('HEAD returns 304 like GET', async () => {
    const server = await serverUnderTest()
    const path = `/user/migrations/${await exportMigration(server)}`
    for (const at of [path, `${path}/repositories?per_page=1`]) {
      const { headers } = await server.request('GET', at)
      const known = { headers: { 'if-none-match': headers.etag! } }
      const [head, get] = [
        await server.request('HEAD', at, known),
        await server.request('GET', at, known),
      ]
      assert.deepEqual([head.status, get.status, head.body], [304, 304, ''], at)
      assert.deepEqual(withoutVaryingHeaders(head.headers), withoutVaryingHeaders(get.headers), at)
    }
  })

  test('HEAD returns the headers of GET without the body', async () => {
    const server = await serverUnderTest()
    const path = `/user/migrations/${await exportMigration(server)}`
    for (const at of ['/user', path, `${path}/repositories?per_page=1`, '/user/migrations/0']) {
      const [head, get] = [await server.request('HEAD', at), await server.request('GET', at)]
      assert.deepEqual([head.status, head.body], [get.status, ''], at)
      assert.deepEqual(withoutVaryingHeaders(head.headers), withoutVaryingHeaders(get.headers), at)
    }
  })
})

function withoutVaryingHeaders(headers: object) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !VARYING_HEADERS.test(name)))
}
