import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HostNotFound } from '../host-errors.ts'
import { GitHubClient } from './github-client.ts'

const { signal } = new AbortController()

/** Starts a GitHub server that returns an object for every path. */
async function github(t: TestContext) {
  const paths: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    paths.push(url)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 1 }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = new GitHubClient({ url: `http://127.0.0.1:${port}`, token: 't', apiPath: '' })
  return { client, paths }
}

test('a repository or person of GitHub can have the name of an endpoint that GitHub lacks', async (t) => {
  const { client, paths } = await github(t)
  const named = ['/repos/alice/teams', '/repos/teams/branch_protections', '/users/teams']
  for (const path of named) await client.get(path, {}, signal)
  assert.deepEqual(paths, named)
})

test('endpoints that GitHub lacks are not requested', async (t) => {
  const { client, paths } = await github(t)
  for (const path of ['/orgs/octo', '/repos/alice/site/teams', '/repos/a/b/branch_protections'])
    await assert.rejects(client.get(path, {}, signal), HostNotFound)
  assert.deepEqual(paths, [])
})
