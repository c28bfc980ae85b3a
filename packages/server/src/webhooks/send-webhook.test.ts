import assert from 'node:assert/strict'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createSocketServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SELF_SIGNED } from '../../../../test/support/forge/self-signed.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { nameServer } from '../../../../test/support/name-server.ts'
import { listen, webhookReceiver } from '../../../../test/support/webhook-receiver.ts'
import { createAddressFilter } from '../../../lib/src/outgoing-requests/address-filter.ts'
import { createResolver } from '../../../lib/src/outgoing-requests/resolve-host.ts'
import { type SendDependencies, sendWebhook } from './send-webhook.ts'

const local: SendDependencies = {
  isAllowed: createAddressFilter(['127.0.0.0/8']),
  resolve: createResolver(),
}
const never = new AbortController().signal

function send(url: string, dependencies: Partial<SendDependencies> = {}) {
  const headers = { 'content-type': 'application/json', 'x-github-event': 'ping' }
  return sendWebhook({ url, headers, body: '{"a":"é"}' }, { ...local, ...dependencies }, never)
}

/** Starts a server that sends raw bytes instead of valid HTTP. */
async function rawServer(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createSocketServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  const port = await listen(t, server as never)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${port}`
}

test('a request arrives unchanged, and the response is stored', async (t) => {
  const receiver = await webhookReceiver(t)
  receiver.respond = (response) => void response.writeHead(201, { 'x-a': 'b' }).end('made\0é')
  const outcome = await send(`${receiver.url}/path?q=1`)
  assert.deepEqual([outcome.isDelivered, outcome.status, outcome.statusCode], [true, 'OK', 201])
  assert.equal(outcome.response?.headers['x-a'], 'b')
  assert.equal(outcome.response?.body, 'made\0é')
  const [received] = receiver.received
  assert.deepEqual([received?.path, received?.body], ['/path?q=1', '{"a":"é"}'])
  assert.equal(received?.headers['content-length'], '10')
  assert.equal(received?.headers['x-github-event'], 'ping')
})

test('a status that is not 2xx is described', async (t) => {
  const receiver = await webhookReceiver(t)
  for (const [code, status] of [
    [500, '500 Internal Server Error'],
    [404, '404 Not Found'],
    [799, '799'],
  ] as const) {
    receiver.respond = (response) => void response.writeHead(code).end()
    const { isDelivered, ...outcome } = await send(receiver.url)
    assert.deepEqual([isDelivered, outcome.status, outcome.statusCode], [false, status, code])
  }
})

test('a redirect is not followed', async (t) => {
  const receiver = await webhookReceiver(t)
  const elsewhere = await webhookReceiver(t)
  for (const code of [301, 302, 303, 307, 308]) {
    receiver.respond = (response) =>
      void response.writeHead(code, { location: elsewhere.url }).end()
    const outcome = await send(receiver.url)
    assert.equal(outcome.isDelivered, false)
    assert.match(outcome.status, new RegExp(`^${code} .*: redirects are not followed$`))
  }
  assert.deepEqual(elsewhere.received, [])
})

test('a slow receiver fails after the timeout, with the phase in the message', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\nx-seen: yes\r\n\r\nfirst'
  const silent = await rawServer(t, () => {})
  const dripping = await rawServer(t, (socket) => void socket.write(head))
  // The timeouts are long enough for a slow machine to reach each phase.
  const [waited, cut, tls] = await Promise.all([
    send(silent, { timeoutMs: 3000 }),
    send(dripping, { timeoutMs: 3000 }),
    send(silent.replace('http:', 'https:'), { connectTimeoutMs: 3000 }),
  ])
  assert.deepEqual(
    [waited.isDelivered, waited.status, waited.statusCode],
    [false, 'timed out while waiting for the response', 0],
  )
  assert.deepEqual([cut.status, cut.statusCode], ['timed out while reading the response', 0])
  assert.deepEqual(cut.response, {
    headers: { 'content-length': '100', 'x-seen': 'yes' },
    body: 'first',
  })
  assert.equal(tls.status, 'timed out while agreeing on TLS')
})

test('a response that upgrades the protocol ends the connection', async (t) => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
  const closed = Promise.withResolvers<void>()
  const url = await rawServer(t, (socket) => {
    socket.resume().on('close', () => closed.resolve())
    socket.write(head)
  })
  const outcome = await send(url)
  assert.deepEqual(
    [outcome.isDelivered, outcome.status, outcome.statusCode],
    [false, '101 Switching Protocols', 101],
  )
  await closed.promise
})

test('endless headers or bodies are cut off', async (t) => {
  const endless = (head: string, again: string) => (socket: Socket) => {
    socket.write(head)
    const more = again.repeat(1000)
    const writeMore = () => {
      while (!socket.destroyed && socket.write(more));
    }
    socket.on('drain', writeMore)
    writeMore()
  }
  const body = await send(
    await rawServer(t, endless('HTTP/1.1 200 OK\r\n\r\n', 'abcdefghij'.repeat(10))),
  )
  assert.equal(body.status, 'the response is larger than 256 kB')
  assert.deepEqual([body.isDelivered, body.statusCode], [false, 0])
  assert.equal(body.response?.body.length, 4096)
  const headers = await send(await rawServer(t, endless('HTTP/1.1 200 OK\r\n', 'x-y: zzzzz\r\n')))
  assert.equal(headers.status, 'the headers of the response are too large')
  const noise = await send(await rawServer(t, endless('', 'what?\r\n')))
  assert.equal(noise.status, 'the response is not HTTP')
  const closing = await send(await rawServer(t, (socket) => void socket.end()))
  assert.equal(closing.status, 'the connection was closed before the response')
})

test('certificates are verified even if the environment disables it', async (t) => {
  const server = createTlsServer(SELF_SIGNED, (_request, response) => response.end('in'))
  const port = await listen(t, server as never)
  const { address } = await nameServer(t, () => ['127.0.0.1'])
  const named = { resolve: createResolver({ servers: [address] }) }
  const url = `https://forge.invalid:${port}`
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })
  const ca = SELF_SIGNED.cert
  assert.equal((await send(url, named)).status, 'TLS: the certificate is self-signed')
  assert.equal((await send(url, { ...named, ca })).status, 'OK')
  const elsewhere = await send(`https://other.test:${port}`, { ...named, ca })
  assert.equal(elsewhere.status, 'TLS: the certificate is for another name')
  const plain = await rawServer(t, (socket) => void socket.end('not TLS'))
  assert.equal(
    (await send(plain.replace('http:', 'https:'))).status,
    'TLS: no agreement with the server',
  )
})

test('private addresses are refused in every spelling', async (t) => {
  const receiver = await webhookReceiver(t)
  const { port } = new URL(receiver.url)
  const { address } = await nameServer(t, () => ['127.0.0.1'])
  const isAllowed = createAddressFilter([])
  const resolve = createResolver({ servers: [address] })
  for (const host of [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.', '0'],
    ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', 'localhost', 'LOCALHOST', 'hook.test'],
    ...['①②⑦.0.0.1', '%31%32%37.0.0.1', '169.254.169.254', '10.0.0.1'],
  ]) {
    const { status } = await send(`http://${host}:${port}/`, { isAllowed, resolve })
    assert.equal(status, 'not sent: the address is on a network that is not allowed', host)
  }
  assert.deepEqual(receiver.received, [])
})

const ALLOWED = '127.0.0.3'

/** Starts two receivers with different addresses and the same port. */
async function twoReceivers(t: TestContext) {
  const port = await freePort()
  const allowed = await webhookReceiver(t, { host: ALLOWED, port })
  const refused = await webhookReceiver(t, { host: '127.0.0.1', port })
  return { allowed, refused, port }
}

test('the connection does not look up the name a second time', async (t) => {
  const { allowed, refused, port } = await twoReceivers(t)
  const names = await nameServer(t, (_name, ordinal) => (ordinal === 1 ? [ALLOWED] : ['127.0.0.1']))
  const dependencies = {
    isAllowed: createAddressFilter([ALLOWED]),
    resolve: createResolver({ servers: [names.address] }),
  }
  const first = await send(`http://hook.test:${port}/`, dependencies)
  assert.equal(first.status, 'OK')
  assert.equal(allowed.received.length, 1)
  assert.deepEqual(
    names.questions.sort(),
    ['A hook.test', 'AAAA hook.test'],
    'the name is looked up once',
  )
  const second = await send(`http://hook.test:${port}/`, dependencies)
  assert.match(second.status, /network that is not allowed/)
  assert.deepEqual(refused.received, [])
})

test('only the allowed addresses of a name are tried', async (t) => {
  const { allowed, refused, port } = await twoReceivers(t)
  const names = await nameServer(t, () => ['127.0.0.1', ALLOWED])
  const isAllowed = createAddressFilter([ALLOWED])
  const resolve = createResolver({ servers: [names.address] })
  const { status } = await send(`http://hook.test:${port}/`, { isAllowed, resolve })
  assert.equal(status, 'OK')
  assert.deepEqual([allowed.received.length, refused.received.length], [1, 0])
})

test('a name that does not exist or cannot be resolved is reported', async (t) => {
  const names = await nameServer(t, (name) => (name === 'silent.test' ? 'silence' : []))
  const resolve = createResolver({ servers: [names.address] })
  const none = await send('http://none.test/', { resolve })
  assert.equal(none.status, 'the name has no address')
  const silent = await send('http://silent.test/', { resolve, connectTimeoutMs: 200 })
  assert.equal(silent.status, 'timed out while looking up the name')
})

test('a proxy of the environment is not used', async (t) => {
  const proxy = await webhookReceiver(t)
  const receiver = await webhookReceiver(t)
  for (const name of ['http_proxy', 'HTTP_PROXY', 'NODE_USE_ENV_PROXY']) {
    const before = process.env[name]
    process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  assert.equal((await send(receiver.url)).status, 'OK')
  assert.deepEqual([receiver.received.length, proxy.received.length], [1, 0])
})

test('an aborted request has no result', async (t) => {
  const silent = await rawServer(t, () => {})
  const stop = new AbortController()
  const sending = sendWebhook({ url: silent, headers: {}, body: '' }, local, stop.signal)
  stop.abort(new Error('stopping'))
  await assert.rejects(sending, /stopping/)
})
