import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { fakeServer, type RequestHandler, sendJson } from '../../../../test/support/fake-server.ts'
import { ServerUnreachable } from './errors.ts'
import { MigrationsApi } from './migrations-api.ts'

async function apiOf(t: TestContext, respond: RequestHandler) {
  const { url } = await fakeServer(t, respond)
  const server = { url, token: 't', vendor: 'github', userAgent: 'godwit/test' }
  return new MigrationsApi(server, { signal: new AbortController().signal, onWait() {} })
}

/** Sends the first byte of a longer body, and closes the connection. */
function breakOff(response: ServerResponse, headers: Record<string, string> = {}): void {
  const type = 'application/json'
  response.writeHead(200, { 'content-type': type, 'content-length': '100', ...headers })
  response.write('[', () => response.destroy())
}

test('a page that breaks off makes the whole list fail, and not shorter', async (t) => {
  const api = await apiOf(t, ({ path, headers }, response) => {
    const link = `<http://${headers.host}/user/repos?page=2>; rel="next"`
    if (path.endsWith('page=2')) breakOff(response)
    else sendJson(response, 200, [{ full_name: 'alice/site' }], { link })
  })
  await assert.rejects(api.ownRepositories(), ServerUnreachable)
})

test('a start whose response breaks off may have happened', async (t) => {
  const api = await apiOf(t, (_request, response) => breakOff(response))
  await assert.rejects(api.start({ repositories: ['alice/site'] }), (error) => {
    assert.ok(error instanceof ServerUnreachable)
    return error.mayHaveArrived
  })
})

test('a response without a body is neither an empty list nor a link', async (t) => {
  for (const status of [200, 204]) {
    const api = await apiOf(t, (_request, response) => response.writeHead(status).end())
    for (const call of [() => api.list(), () => api.archiveLink(7)])
      await assert.rejects(call, { name: 'RequestRejected' })
  }
})

test('a response without an end is not read for ever', { timeout: 30_000 }, async (t) => {
  for (const status of [200, 404]) {
    const api = await apiOf(t, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      const spaces = Buffer.alloc(1024 * 1024, ' ')
      Readable.from(Iterator.from({ next: () => ({ done: false, value: spaces }) })).pipe(response)
    })
    const message = /is not a server of this API/
    await assert.rejects(api.list(), { name: 'RequestRejected', message })
  }
})
