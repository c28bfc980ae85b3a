import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { largePack } from '../support/export-sources.ts'
import { exportStory, until } from '../support/export-story.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { withTimeout } from '../support/wait-until.ts'

const CLIENTS = shortOrLong({ short: 20, long: 200 })
/** Far longer than a busy machine delays a normal client. */
const TIMEOUT = ['--client-timeout', '10s']

async function startStory(t: TestContext, flags: string[], megabytes = 1) {
  const story = await exportStory(t, {
    async repositories(host) {
      await largePack(host.path('alice/large'), megabytes)
    },
    flags: ['--rate-limit', '0', ...flags],
  })
  const { hostname, port } = new URL(story.service.url)
  const openSocket = async () => {
    const socket = connect(Number(port), hostname)
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await withTimeout('the service accepts a connection', once(socket, 'connect'))
    return socket
  }
  return { ...story, openSocket }
}

test('a client that sends its request byte by byte is cut off, and others are not affected', async (t) => {
  const { call, openSocket } = await startStory(t, TIMEOUT)
  const starts = [
    'GET /user/migrations HTTP/1.1\r\n',
    'POST /user/migrations HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{',
  ]
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, openSocket))
  for (const [index, socket] of sockets.entries()) socket.write(starts[index % 2]!)
  const dripping = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, 100)
  t.after(() => clearInterval(dripping))
  const ends = sockets.map((socket) => untilClosed(socket))
  let isOver = false
  const all = 'every slow client is disconnected'
  const over = withTimeout(all, Promise.all(ends)).finally(() => {
    isOver = true
  })
  let others = 0
  for (; !isOver; others++) assert.equal((await call('/user/migrations')).status, 200)
  await over
  assert.ok(others > 0)
  reportFault(t, 'request sent byte by byte', CLIENTS, 'disconnected; others are served')
})

test('a download that the client does not read is cut off, and a slow one is not', async (t) => {
  const story = await startStory(t, TIMEOUT, 40)
  const { id } = await story.migrate(['large'])
  const link = await story.link(id)
  const stalled = await Promise.all(Array.from({ length: CLIENTS }, () => startDownload(t, link)))
  const slow = await startDownload(t, link)
  let taken = 0
  let areDisconnected = false
  const slowly = (async () => {
    for await (const chunk of slow) {
      taken += (chunk as Buffer).length
      if (!areDisconnected) await pause(20)
    }
  })()
  // The clients are paused: they notice the end only when they read.
  await Promise.all(stalled.map(({ socket }) => untilReset(socket)))
  areDisconnected = true
  await slowly
  assert.equal(taken, Number(slow.headers['content-length']))
  assert.equal((await story.call('/user/migrations')).status, 200)
  reportFault(t, 'stalled download', CLIENTS, 'disconnected; slow clients continue')
})

test('downloads over the limit get 503 with Retry-After', async (t) => {
  const flags = ['--max-streams', '3', '--max-streams-per-account', '10']
  const story = await startStory(t, [...flags, '--client-timeout', '10m'], 40)
  const { id } = await story.migrate(['large'])
  const link = await story.link(id)
  const served = await Promise.all(Array.from({ length: 3 }, () => startDownload(t, link)))
  for (let n = 0; n < CLIENTS; n++) await assertUnavailable(await fetch(link))
  assert.equal((await story.call('/user/migrations')).status, 200)
  for (const { socket } of served) socket.destroy()
  await until(
    'another download is accepted',
    async () => (await startDownload(t, link)).statusCode === 200,
  )
  reportFault(t, 'more downloads than the limit', CLIENTS, '503 with Retry-After')
})

test('requests over the limit get 503 at once, and health checks still work', async (t) => {
  const dir = temporaryDirectory(t)
  const [program, held] = [join(dir, 'git'), join(dir, 'held')]
  const script = `#!/bin/sh\nwhile [ -e ${held} ]; do sleep 0.1; done\nexec git "$@"\n`
  await writeFile(program, script, { mode: 0o755 })
  const { call, service } = await startStory(t, ['--max-requests', '4', '--git', program])
  await writeFile(held, '')
  const clients = new AbortController()
  const body = JSON.stringify({ repositories: ['large'] })
  const preflight = { method: 'POST', body, signal: clients.signal }
  for (let n = 0; n < 4; n++) call('/user/migrations/preflight', preflight).catch(() => {})
  await until('the limit is reached', async () => (await call('/user/migrations')).status === 503)
  for (let n = 0; n < CLIENTS; n++) await assertUnavailable(await call('/user/migrations'))
  for (const path of ['/healthz', '/readyz'])
    assert.equal((await fetch(`${service.url}${path}`)).status, 200)
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  assert.ok(Number(/^godwit_http_shed_total (\d+)$/m.exec(metrics)?.[1]) >= CLIENTS)
  clients.abort()
  await until(
    'requests are accepted again',
    async () => (await call('/user/migrations')).status === 200,
  )
  reportFault(t, 'more requests than the limit', CLIENTS, '503 with Retry-After')
})

async function assertUnavailable(response: Response): Promise<void> {
  assert.equal(response.status, 503)
  assert.ok(Number(response.headers.get('retry-after')) >= 1)
  const body = (await response.json()) as Record<string, string>
  assert.deepEqual(Object.keys(body), ['message', 'documentation_url', 'status'])
}

/** Starts a download that is not read any further until the test does. */
function startDownload(t: TestContext, link: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(link, { agent: false }, (response) => {
      response.on('error', () => {})
      resolve(response)
    })
    request.on('error', reject)
    t.after(() => request.destroy())
  })
}

async function untilClosed(socket: Socket): Promise<void> {
  socket.resume()
  await until('the connection is closed', () => socket.closed)
}

/** Does not read, so that only a reset shows that the server closed the connection. */
async function untilReset(socket: Socket): Promise<void> {
  await until('the server closes the connection', () => {
    if (!socket.destroyed && !socket.writableEnded) socket.write('x')
    return socket.destroyed
  })
}
