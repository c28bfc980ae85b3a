import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { until } from '../../../../test/support/wait-until.ts'
import { ForgeClient } from '../forge/client/forge-client.ts'
import { FileDamaged } from '../host-errors.ts'
import { openFile } from './open-file.ts'

const { signal } = new AbortController()

test('the connection of a small file that does not arrive is closed', async (t) => {
  const unfinished = new Set<ServerResponse>()
  let downloads = 0
  const server = createServer(({ url }, response) => {
    if (url === '/api/v1/version') {
      response.setHeader('content-type', 'application/json')
      response.end('{"version":"1.22.0"}')
      return
    }
    downloads++
    unfinished.add(response)
    response.once('close', () => unfinished.delete(response))
    response.setHeader('content-length', 100).write('x')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new ForgeClient({ url, token: 't', pauseMs: 1 })
  const file = { file: 'x', source: '/attachments/1', size: 100 }
  const download = Array.fromAsync(openFile(client, file, signal, { idleMs: 100 }))
  await assert.rejects(download, FileDamaged)
  assert.equal(downloads, 3)
  await until('the connections are closed', () => unfinished.size === 0)
})
