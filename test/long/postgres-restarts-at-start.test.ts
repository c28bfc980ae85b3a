import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Logger, pino } from 'pino'
import { readConfig } from '../../packages/cli/src/settings/config.ts'
import { startService } from '../../packages/server/src/service/service.ts'
import { startWorker } from '../../packages/server/src/service/start-exporter.ts'
import { commandLine } from '../support/command-line.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { createDatabase } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { createCommandRunner } from '../support/shared-commands.ts'

/** The number of connections that fail after a cut, as during a restart. */
const REFUSED = 3
/** The number of client messages after which all connections are cut; a start has about fifty. */
const CUTS = [1, 4, 9, 16, 25, 40]

test('a process that starts during a restart of PostgreSQL waits for it, and logs one line', async (t) => {
  const direct = new URL(await createDatabase())
  const postgres = await restartingPostgres(t, Number(direct.port))
  const databaseUrl = Object.assign(new URL(direct), { port: String(postgres.port) }).href
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' } })
  const shared = { data: temporaryDirectory(t), databaseUrl }
  const api = readConfig({ ...shared, role: 'api', listen: `127.0.0.1:${await freePort()}` }, {})
  const both = readConfig(
    { ...shared, repositories: host.root, listen: `127.0.0.1:${await freePort()}` },
    {},
  )
  const optionsOf = (log: Logger) => ({ logging: { log, close: async () => {} }, dashboard: '' })
  const starts: [role: string, start: (log: Logger) => Promise<() => Promise<void>>][] = [
    ['serve', async (log) => (await startService(both, optionsOf(log))).stop],
    ['api', async (log) => (await startService(api, optionsOf(log))).stop],
    [
      'work',
      async (log) => {
        const worker = await startWorker(both, { log, close: async () => {} })
        return () => worker.disposeAsync()
      },
    ],
  ]
  for (const [role, start] of starts) {
    for (const cut of CUTS) {
      const lines: string[] = []
      postgres.cutAfter(cut)
      const stop = await start(pino({}, { write: (line) => void lines.push(line) }))
      const waiting = lines.filter((line) => line.includes('waiting up to 60 seconds'))
      assert.ok(waiting.length <= 1, `${role}, cut ${cut}: ${waiting.join('')}`)
      if (cut < 20) assert.equal(waiting.length, 1, `${role}, cut ${cut}: ${lines.join('')}`)
      for (const line of waiting) assert.doesNotMatch(line, new RegExp(direct.password))
      await stop()
    }
  }
})

test('a command that loses PostgreSQL prints one line', async (t) => {
  const direct = new URL(await createDatabase())
  const postgres = await restartingPostgres(t, Number(direct.port))
  const databaseUrl = Object.assign(new URL(direct), { port: String(postgres.port) }).href
  const { folder, env } = await commandLine(t)
  const godwit = createCommandRunner({ cwd: folder, env })
  const there = ['--database-url', databaseUrl]
  assert.equal((await godwit(['account', 'add', 'alice', ...there])).code, 0)
  let failures = 0
  for (const cut of [1, 3, 5, 7, 9]) {
    postgres.cutAfter(cut)
    const { code, stderr } = await godwit(['account', 'list', ...there])
    if (code === 0) continue
    failures++
    assert.equal(code, 4, stderr)
    assert.match(
      stderr,
      /^godwit: the database [^\n]*\(--database-url\) is not available: [^\n]+\n$/,
    )
  }
  assert.ok(failures >= 3)
})

/** A proxy to PostgreSQL that fails on demand. */
async function restartingPostgres(t: TestContext, to: number) {
  const sockets = new Set<Socket>()
  let messagesLeft = Number.POSITIVE_INFINITY
  let refused = REFUSED
  const server = createServer((client) => {
    if (messagesLeft <= 0 && refused++ < REFUSED) {
      client.destroy()
      return
    }
    messagesLeft = messagesLeft <= 0 ? Number.POSITIVE_INFINITY : messagesLeft
    const there = connect(to, '127.0.0.1')
    for (const each of [client, there]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => [client, there].map((end) => end.destroy()))
    }
    there.pipe(client)
    client.on('data', (bytes: Buffer) => {
      if (--messagesLeft > 0) there.write(bytes)
      else for (const socket of sockets) socket.destroy()
    })
  })
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter(messages: number) {
      messagesLeft = messages
      refused = 0
    },
  }
}
