import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runLifecycle } from './migration-lifecycle.ts'
import { needsPyGithub, pyGithubClient } from './pygithub-client.ts'
import {
  needsOrganization,
  organizationUnderTest,
  ownServer,
  serverUnderTest,
  serverWith,
} from './server-under-test.ts'

describe('PyGithub', needsPyGithub(), () => {
  test('runs a migration from start to deletion', async (t) => {
    const server = await serverUnderTest()
    const client = pyGithubClient(server)
    const { body } = await server.request('GET', '/user')
    assert.equal(await client.login(), JSON.parse(body).login)
    await runLifecycle(t, server, client)
  })

  test('runs a migration under /api/v3, as on another vendor’s host', async (t) => {
    const server = await serverUnderTest()
    const client = pyGithubClient({ ...server, url: `${server.url}/api/v3` })
    await runLifecycle(t, server, client)
  })

  test('runs a migration of an organization', needsOrganization, async (t) => {
    const server = await organizationUnderTest()
    const client = pyGithubClient(server)
    const found = await client.userRepositories({ sort: 'full_name', type: 'all' })
    for (const name of server.repositories) assert.ok(found.includes(name), name)
    for (const type of ['forks', 'sources', 'private', 'public'])
      assert.ok((await client.userRepositories({ type })).length <= found.length, type)
    await runLifecycle(t, server, client)
  })

  test('parses a time with an offset correctly', ownServer, async () => {
    const server = await serverWith('unusual')
    const client = pyGithubClient(server)
    const { id, created_at } = await client.start(server.repositories, { lock: false })
    const { body } = await server.request('GET', `/user/migrations/${id}`)
    const sent: string = JSON.parse(body).created_at
    assert.match(sent, /\+05:30$/)
    assert.equal(`${created_at}.000Z`, new Date(sent).toISOString(), 'PyGithub’s times are UTC')
  })

  test('recognizes the rate limit', ownServer, async () => {
    const client = pyGithubClient(await serverWith('strict', 'bob'))
    assert.deepEqual(await client.rateLimit(), { limit: 2, remaining: 2 })
    await client.login()
    await client.login()
    await assert.rejects(client.login(), { status: 403, message: 'RateLimitExceededException' })
    assert.deepEqual(await client.rateLimit(), { limit: 2, remaining: 0 })
  })
})
