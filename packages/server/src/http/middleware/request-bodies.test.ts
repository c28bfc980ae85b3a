import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { cloneScene } from '../../../../../test/support/clone-scene.ts'
import { onSqlite } from '../../../../../test/support/databases.ts'
import type { GitHost } from '../../../../../test/support/git-host.ts'
import { sendRaw } from '../../../../../test/support/raw-http.ts'
import { until, withTimeout } from '../../../../../test/support/wait-until.ts'
import { HttpError } from './http-errors.ts'
import { bodyReader } from './request-bodies.ts'

const MIB = 1024 * 1024
const GIT_TYPE = 'application/x-git-upload-pack-request'

async function fill(host: GitHost): Promise<void> {
  await host.repository('alice/open', { files: { a: '1' }, public: true })
}

/** Opens a connection that sends only this part of a request. */
async function halfSent(t: TestContext, url: string, pieces: readonly (string | Buffer)[]) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  let response = ''
  let isSent = false
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', (text: string) => {
    response += text
  })
  await withTimeout('the server accepts a connection', once(socket, 'connect'))
  for (const piece of pieces.slice(0, -1)) socket.write(piece)
  socket.write(pieces.at(-1)!, () => {
    isSent = true
  })
  return { socket, response: () => response, isSettled: () => isSent || socket.closed }
}

test('incomplete requests without a token do not block clones', async (t) => {
  const { url, host, git, cloneUrl, token } = await cloneScene(t, fill)
  const path = '/alice/open/git-upload-pack'
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${GIT_TYPE}\r\ntransfer-encoding: chunked\r\n\r\n`
  // If the server accepted all of them, they would reach the limit for all bodies together: 8 × 16 MiB.
  const pieces = [head, `${(16 * MIB).toString(16)}\r\n`, Buffer.alloc(16 * MIB)]
  const attackers = await Promise.all(Array.from({ length: 8 }, () => halfSent(t, url, pieces)))
  await until('all parts are sent', () => attackers.every(({ isSettled }) => isSettled()))
  await until('some are rejected', () =>
    attackers.some(({ response }) => response().startsWith('HTTP/1.1 429 ')),
  )
  const anonymous = await git('clone', '--quiet', cloneUrl('alice/open'), 'anonymous')
  assert.equal(anonymous.code, 0, anonymous.output)
  // With a token, a large request is read as well.
  const commit = await host.git(['rev-parse', 'HEAD'], { dir: host.path('alice/open') })
  const body = `${`0032want ${commit}\n`.repeat(200_000)}00000009done\n`
  const authorization = `bearer ${await token('bob')}`
  const large = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': GIT_TYPE, authorization },
    body,
  })
  assert.equal(large.status, 200, await large.text())
  for (const { socket } of attackers) socket.destroy()
})

onSqlite('a server with half-sent requests', (engine) => {
  test('responds to complete requests, and rejects further half-sent ones from the same address', async (t) => {
    const requestLimits = {
      ...{ maxConnections: 100, maxRequests: 20, maxStreams: 10, maxStreamsPerAccount: 10 },
      clientTimeoutMs: 600_000,
    }
    const { url, call, token } = await cloneScene(t, fill, { engine, requestLimits })
    const mine = await token('alice')
    const head = 'POST /nowhere HTTP/1.1\r\nhost: x\r\nuser-agent: x\r\ncontent-length: 9\r\n\r\n{'
    const open = await Promise.all(Array.from({ length: 25 }, () => halfSent(t, url, [head])))
    const rejected = () => open.filter(({ response }) => response().startsWith('HTTP/1.1 429 '))
    // An address may send a tenth of maxRequests, two bodies, at a time.
    await until('the limit of the address is reached', () => rejected().length === 23)
    assert.match(
      rejected()[0]!.response(),
      /\r\n\r\n\{"message":"You have exceeded a secondary rate limit: /,
    )
    assert.equal((await call(mine, '/user')).status, 200)
    const body = JSON.stringify({ repositories: ['open'] })
    const preflight = await call(mine, '/user/migrations/preflight', { method: 'POST', body })
    assert.equal(preflight.status, 200, await preflight.text())
    const complete = await fetch(`${url}/nowhere`, { method: 'POST', body: '{}' })
    assert.equal(complete.status, 404)
    for (const { socket } of open) socket.destroy()
    await until('the limit allows another body', async () => {
      const { response, socket } = await halfSent(t, url, [head])
      socket.write('xxxxxxxx')
      await until('there is a response', response)
      return response().startsWith('HTTP/1.1 400 ')
    })
  })
})

/** Starts a server that echoes bodies of up to 100 bytes, and closes the connection after an error as Fastify does. */
async function echoServer(t: TestContext, stallMs: number): Promise<string> {
  const read = bodyReader({ receive: () => ({ [Symbol.dispose]() {} }) }, stallMs)
  const options = { maxBytes: 100, tooLarge: () => new HttpError(413, 'too large') }
  const server = createServer((raw: IncomingMessage, response) => {
    const request = { raw, viewer: null, ip: '127.0.0.1' } as never
    read(request, options).then(
      ({ bytes }) => response.end(bytes),
      ({ status, message }) => response.writeHead(status, { connection: 'close' }).end(message),
    )
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Sends a request as Python's http.client does: reads nothing before everything is sent. Rejects if the connection is reset. */
async function sendThenRead(url: string, pieces: readonly (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).pause()
  await once(socket, 'connect')
  for (const piece of pieces) if (!socket.write(piece)) await once(socket, 'drain')
  return (await socket.toArray()).join('')
}

test('a client that sends all of a body that is too large gets its 413', async (t) => {
  const url = await echoServer(t, 60_000)
  const size = 8 * MIB
  const pieces = Array.from({ length: size / 1024 }, () => Buffer.alloc(1024))
  for (const [head, end] of [
    [`content-length: ${size}\r\n\r\n`, ''],
    [`transfer-encoding: chunked\r\n\r\n${size.toString(16)}\r\n`, '\r\n0\r\n\r\n'],
  ] as const) {
    const request = [`POST / HTTP/1.1\r\nhost: x\r\n${head}`, ...pieces, end]
    const response = await withTimeout('the response', sendThenRead(url, request))
    assert.match(response, /^HTTP\/1.1 413.*\r\n\r\n(9\r\n)?too large/s)
  }
})

test('a body that is too large is discarded only within limits', async (t) => {
  const url = await echoServer(t, 20)
  const head = (header: string) => `POST / HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`
  const stalled = await sendRaw(url, [head('content-length: 9999'), 'x'.repeat(101)], {})
  assert.deepEqual(stalled.statuses, [413])
  const patient = await echoServer(t, 60_000)
  const huge = await sendRaw(patient, [head(`content-length: ${2 ** 30}`)], {})
  assert.deepEqual(huge.statuses, [413])
  const size = 21 * MIB
  const endless = [head('transfer-encoding: chunked'), `${(2 * size).toString(16)}\r\n`]
  const cut = await sendRaw(patient, [...endless, Buffer.alloc(size)], {})
  assert.deepEqual(cut.statuses, [413])
})

test('a stalled body is rejected with 408', async (t) => {
  const url = await echoServer(t, 20)
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n'
  const stalled = await sendRaw(url, [`${head}ab`], {})
  assert.deepEqual(stalled.statuses, [408])
  assert.match(stalled.text, /Request Timeout: the rest of the request did not arrive\./)
  const complete = await sendRaw(url, [`${head}abcd`], { responses: 1 })
  assert.match(complete.text, /\r\n\r\nabcd$/)
})

test('all requests without a token together are held only up to a limit, which those with one do not share', async () => {
  const read = bodyReader({ receive: () => ({ [Symbol.dispose]() {} }) }, 60_000)
  const options = { maxBytes: 20 * MIB, tooLarge: () => new HttpError(413, 'too large') }
  const send = (ip: string, viewer: object | null = null) => {
    // As a body that has arrived completely.
    const raw = Object.assign(Readable.from([Buffer.alloc(12 * MIB)]), {
      headers: {},
      complete: true,
    })
    return read({ raw, viewer, ip } as never, options)
  }
  const first = await send('192.0.2.1')
  await send('192.0.2.2')
  await assert.rejects(send('192.0.2.3'), { status: 503 })
  const withToken = await send('192.0.2.3', { account: { id: 1 } })
  first.release()
  const third = await send('192.0.2.3')
  assert.deepEqual([withToken.bytes.length, third.bytes.length], [12 * MIB, 12 * MIB])
})
