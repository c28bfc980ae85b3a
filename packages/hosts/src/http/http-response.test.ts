import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { explainConnectionError, sendRequest } from './http-response.ts'

test('an https URL of a port that serves plain HTTP is reported with a hint to check --forge', async (t) => {
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const error = await fetch(url).catch((reason: unknown) => reason)
  const message = explainConnectionError(url, error)
  assert.ok(message.startsWith(`no TLS connection to ${url} (ERR_SSL_`), message)
  assert.ok(message.endsWith('check http or https in --forge'), message)
})

test('a discarded body that never arrives does not keep its connection', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(500, { 'content-length': 10 }).write('half')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const [[socket], response] = await Promise.all([
    once(server, 'connection') as Promise<[Socket]>,
    sendRequest(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      { method: 'GET' },
      t.signal,
    ),
  ])
  const closed = once(socket, 'close')
  response.discard()
  t.mock.timers.tick(10_000)
  await closed
})
