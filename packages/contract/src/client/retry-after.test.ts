import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fakeServer, type RequestHandler, sendJson } from '../../../../test/support/fake-server.ts'
import { type DownloadTarget, downloadArchive } from './download-archive.ts'
import { ServerBusy, ServerError } from './errors.ts'
import { MigrationsApi } from './migrations-api.ts'

const LATER = { 'retry-after': '1800' }

async function apiOf(t: TestContext, response: RequestHandler) {
  const { url } = await fakeServer(t, response)
  const { signal } = new AbortController()
  const server = { url, token: 't', vendor: 'github', userAgent: 'godwit/test' }
  const waits: number[] = []
  const api = new MigrationsApi(server, { signal, onWait: (seconds) => waits.push(seconds) })
  return { api, url, waits, signal }
}

const EMPTY_TARGET: DownloadTarget = {
  position: 0,
  etag: undefined,
  async begin() {},
  async write() {},
}

const download = (api: MigrationsApi, stop = new AbortController(), onError = (_: Error) => {}) =>
  downloadArchive(api, 7, EMPTY_TARGET, { signal: stop.signal, onBytes() {}, onError })

/** Returns the first error that `downloadArchive` reports, and aborts it before its first pause. */
async function firstErrorOf(api: MigrationsApi): Promise<Error | undefined> {
  const stop = new AbortController()
  let reported: Error | undefined
  const downloading = download(api, stop, (error) => {
    reported = error
    stop.abort()
  })
  await assert.rejects(downloading, { name: 'AbortError' })
  return reported
}

test('a request for events reports the Retry-After of a proxy', async (t) => {
  let response: [status: number, headers: Record<string, string>] = [503, LATER]
  const { api, url, signal } = await apiOf(t, (_request, reply) =>
    sendJson(reply, response[0], { message: 'Later' }, response[1]),
  )
  const events = () => api.events(7, '', { signal, onWait() {} })
  await assert.rejects(events(), (error) => {
    assert.ok(error instanceof ServerBusy)
    assert.deepEqual([error.status, error.seconds], [503, 1800])
    assert.equal(error.message, `${url} responded 503 and asks the client to wait 30 min`)
    return true
  })
  response = [502, LATER]
  await assert.rejects(events(), ServerError)
  for (const status of [403, 429]) {
    response = [status, LATER]
    assert.equal(await events(), undefined, 'the client polls the state instead')
  }
})

test('a download reports the Retry-After of the server, or of the storage by its origin alone', async (t) => {
  const storage = await fakeServer(t, (_request, response) =>
    sendJson(response, 503, { message: 'Slow Down' }, LATER),
  )
  let location = '/bytes'
  const { api, url } = await apiOf(t, ({ path }, response) => {
    if (path.endsWith('/archive')) response.writeHead(302, { location }).end()
    else sendJson(response, 429, { message: 'Later' }, LATER)
  })
  const fromServer = await firstErrorOf(api)
  assert.ok(fromServer instanceof ServerBusy)
  assert.equal(fromServer.seconds, 1800)
  assert.equal(fromServer.message, `${url} responded 429 and asks the client to wait 30 min`)
  location = `${storage.url}/signed?secret=1`
  const fromStorage = await firstErrorOf(api)
  assert.equal(
    fromStorage?.message,
    `${storage.url} responded 503 and asks the client to wait 30 min`,
  )
})

test('a new link that the storage refuses is not tried again', async (t) => {
  let requests = 0
  const storage = await fakeServer(t, (_request, response) => {
    requests += 1
    sendJson(response, 403, { message: 'Forbidden' })
  })
  const { api, url } = await apiOf(t, (_request, response) =>
    response.writeHead(302, { location: `${storage.url}/signed?secret=1` }).end(),
  )
  const advice = `${url} sent this link: the server's --base-url or the address of its bucket may be wrong; tell its operator`
  await assert.rejects(download(api), {
    name: 'RequestRejected',
    message: `${storage.url} responded 403 to the archive download; ${advice}`,
  })
  assert.equal(requests, 1)
})

test('a short pause calls onWait of the request and onWait of the client', async (t) => {
  let isBusy = true
  const { api, waits, signal } = await apiOf(t, (_request, response) => {
    if (isBusy) response.writeHead(503, { 'retry-after': '0' }).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
    isBusy = false
  })
  const ownWaits: number[] = []
  const response = await api.events(7, '', { signal, onWait: (seconds) => ownWaits.push(seconds) })
  assert.equal(response?.status, 200)
  assert.deepEqual([waits, ownWaits], [[0], [0]])
})
