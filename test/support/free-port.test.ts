import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePort } from './free-port.ts'

const RANGE = '/proc/sys/net/ipv4/ip_local_port_range'
const onLinux = { skip: !existsSync(RANGE) && 'only Linux keeps a port by a second address' }

test('a port is free to listen on, again and again', async () => {
  const port = await freePort()
  for (const _ of ['first', 'again']) {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
  }
})

test('no port is one that the kernel gives to others', onLinux, async () => {
  const [first = 0, last = 0] = readFileSync(RANGE, 'utf8').split(/\s+/).map(Number)
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()))
  assert.equal(new Set(ports).size, 50)
  assert.deepEqual(
    ports.filter((port) => port >= first && port <= last),
    [],
  )
})

test('a port stays whose it is while nobody listens on it', onLinux, async () => {
  let chance = 0
  const draw = () => {
    chance = Math.random()
    return chance
  }
  await freePort(draw)
  await assert.rejects(
    freePort(() => chance),
    /no port is free/,
  )
})
