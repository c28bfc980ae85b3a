import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, json, otherServer } from '../../test/support/other-server.ts'
import { downloadArchive, type Target } from './download-archive.ts'
import { ServerBusy, ServerError } from './errors.ts'
import { MigrationsApi } from './migrations-api.ts'

const LATER = { 'retry-after': '1800' }

async function apiOf(t: TestContext, answer: Answer) {
  const { url } = await otherServer(t, answer)
  const { signal } = new AbortController()
  const server = { url, token: 't', vendor: 'github', userAgent: 'godwit/test' }
  const waits: number[] = []
  const api = new MigrationsApi(server, { signal, onWait: (seconds) => waits.push(seconds) })
  return { api, url, waits, signal }
}

/** What `downloadArchive` says before the first pause, which is not waited for. */
async function firstErrorOf(api: MigrationsApi): Promise<Error | undefined> {
  const stop = new AbortController()
  let told: Error | undefined
  const target: Target = { position: 0, etag: undefined, async begin() {}, async write() {} }
  const downloading = downloadArchive(api, 7, target, {
    signal: stop.signal,
    onBytes() {},
    onError(error) {
      told = error
      stop.abort()
    },
  })
  await assert.rejects(downloading, { name: 'AbortError' })
  return told
}

test('a proxy that asks to come back later is heard where events are asked for', async (t) => {
  let answered: [status: number, headers: Record<string, string>] = [503, LATER]
  const { api, url, signal } = await apiOf(t, (_request, response) =>
    json(response, answered[0], { message: 'Later' }, answered[1]),
  )
  const events = () => api.events(7, '', { signal, onWait() {} })
  await assert.rejects(events(), (error) => {
    assert.ok(error instanceof ServerBusy)
    assert.deepEqual([error.status, error.seconds], [503, 1800])
    assert.equal(error.message, `${url} answers 503 and asks to wait 30 min`)
    return true
  })
  answered = [502, LATER]
  await assert.rejects(events(), ServerError)
  for (const status of [403, 429]) {
    answered = [status, LATER]
    assert.equal(await events(), undefined, 'then the state is asked for, less often')
  }
})

test('and where an archive comes from, by its origin where that is another', async (t) => {
  const storage = await otherServer(t, (_request, response) =>
    json(response, 503, { message: 'Slow Down' }, LATER),
  )
  let location = '/bytes'
  const { api, url } = await apiOf(t, ({ path }, response) => {
    if (path.endsWith('/archive')) response.writeHead(302, { location }).end()
    else json(response, 429, { message: 'Later' }, LATER)
  })
  const own = await firstErrorOf(api)
  assert.ok(own instanceof ServerBusy)
  assert.equal(own.seconds, 1800)
  assert.equal(own.message, `${url} answers 429 and asks to wait 30 min`)
  location = `${storage.url}/signed?secret=1`
  const others = await firstErrorOf(api)
  assert.equal(others?.message, `${storage.url} answers 503 and asks to wait 30 min`)
})

test('a short pause is told to whoever sent the request, and to whoever is told of all', async (t) => {
  let isBusy = true
  const { api, waits, signal } = await apiOf(t, (_request, response) => {
    if (isBusy) response.writeHead(503, { 'retry-after': '0' }).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
    isBusy = false
  })
  const own: number[] = []
  const answer = await api.events(7, '', { signal, onWait: (seconds) => own.push(seconds) })
  assert.equal(answer?.status, 200)
  assert.deepEqual([waits, own], [[0], [0]])
})
