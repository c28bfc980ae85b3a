import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withoutCloneTokens } from '../support/service.ts'
import { exportMigration } from './export-migration.ts'
import { ownServer, serverUnderTest } from './server-under-test.ts'

const KEPT = ['etag', 'cache-control', 'vary', 'link'] as const
const OWN_TO_EACH_ANSWER = /^(date|x-github-request-id|x-ratelimit-.*)$/

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
      const whole = await server.ask('GET', path)
      assert.equal(whole.status, 200, path)
      assert.match(whole.headers.etag!, /^W\/"[^"]+"$/)
      for (const sent of [
        whole.headers.etag!,
        `"other", ${whole.headers.etag}`,
        whole.headers.etag!.slice(2),
        '*',
      ]) {
        const again = await server.ask('GET', path, { headers: { 'if-none-match': sent } })
        assert.deepEqual([again.status, again.body], [304, ''], `${path} with ${sent}`)
        for (const name of KEPT) assert.equal(again.headers[name], whole.headers[name])
      }
      const other = await server.ask('GET', path, { headers: { 'if-none-match': 'W/"other"' } })
      assert.equal(other.status, 200)
      assert.equal(withoutCloneTokens(other.body), withoutCloneTokens(whole.body))
    }
  })

  test('a client that polls with an ETag sees a change', async () => {
    const server = await serverUnderTest()
    const id = await exportMigration(server)
    const paths = [`/user/migrations/${id}`, '/user/migrations?per_page=100']
    const before = await Promise.all(paths.map((path) => server.ask('GET', path)))
    assert.equal((await server.ask('DELETE', `/user/migrations/${id}/archive`)).status, 204)
    for (const [at, path] of paths.entries()) {
      const headers = { 'if-none-match': before[at]!.headers.etag! }
      const after = await server.ask('GET', path, { headers })
      assert.equal(after.status, 200, path)
      assert.doesNotMatch(after.body, new RegExp(`/user/migrations/${id}/archive"`))
    }
  })

  test('another query or media type has another ETag', async () => {
    const server = await serverUnderTest()
    const path = `/user/migrations/${await exportMigration(server)}`
    const asked = ['', '?exclude=repositories', '/repositories?per_page=1', '/repositories?page=2']
    const answers = asked.map((how) => server.ask('GET', `${path}${how}`))
    const etags = (await Promise.all(answers)).map(({ headers }) => headers.etag)
    assert.equal(new Set(etags).size, asked.length)
  })

  test(
    'a 304 does not count against the rate limit, and HEAD counts like GET',
    ownServer,
    async () => {
      const server = await serverUnderTest()
      const { headers } = await server.ask('GET', '/user/migrations')
      const left = Number(headers['x-ratelimit-remaining'])
      const known = { headers: { 'if-none-match': headers.etag! } }
      const remaining = async (method: string, more?: typeof known) =>
        Number(
          (await server.ask(method, '/user/migrations', more)).headers['x-ratelimit-remaining'],
        )
      assert.equal(await remaining('GET', known), left)
      assert.equal(await remaining('HEAD', known), left)
      assert.equal(await remaining('HEAD'), left - 1)
      assert.equal(await remaining('GET'), left - 2)
    },
  )

  test('HEAD returns 304 like GET', async () => {
    const server = await serverUnderTest()
    const path = `/user/migrations/${await exportMigration(server)}`
    for (const at of [path, `${path}/repositories?per_page=1`]) {
      const { headers } = await server.ask('GET', at)
      const known = { headers: { 'if-none-match': headers.etag! } }
      const [head, get] = [await server.ask('HEAD', at, known), await server.ask('GET', at, known)]
      assert.deepEqual([head.status, get.status, head.body], [304, 304, ''], at)
      assert.deepEqual(lasting(head.headers), lasting(get.headers), at)
    }
  })

  test('HEAD returns the headers of GET without the body', async () => {
    const server = await serverUnderTest()
    const path = `/user/migrations/${await exportMigration(server)}`
    for (const at of ['/user', path, `${path}/repositories?per_page=1`, '/user/migrations/0']) {
      const [head, get] = [await server.ask('HEAD', at), await server.ask('GET', at)]
      assert.deepEqual([head.status, head.body], [get.status, ''], at)
      assert.deepEqual(lasting(head.headers), lasting(get.headers), at)
    }
  })
})

function lasting(headers: object) {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !OWN_TO_EACH_ANSWER.test(name)),
  )
}
