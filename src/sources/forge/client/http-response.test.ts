import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { explainConnectionError } from './http-response.ts'

test('plain HTTP on a port that should have TLS is reported as such', async (t) => {
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const error = await fetch(url).catch((refused: unknown) => refused)
  const told = explainConnectionError(url, error)
  assert.ok(told.startsWith(`no TLS connection to ${url} (ERR_SSL_`), told)
  assert.ok(told.endsWith('check http or https in --forge'), told)
})
