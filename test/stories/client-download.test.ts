import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { clientCommandLine } from '../support/client-command-line.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { incompressible } from '../support/sample-repositories.ts'
import { untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

interface HaltingProxy {
  port: number
  /** From the next connection on, cuts the connection or stops forwarding after this many bytes of responses. */
  interrupt(after: number, how: 'cut' | 'stall'): void
  /** Returns everything that clients sent. */
  sent(): string
}

/** Starts a proxy that fails on demand. */
async function haltingProxy(
  t: Pick<TestContext, 'after'>,
  port: number,
  to: () => number,
): Promise<HaltingProxy> {
  const sockets = new Set<Socket>()
  let next: { after: number; how: 'cut' | 'stall' } | undefined
  let sent = ''
  const server = createServer((client) => {
    const upstream = connect(to(), '127.0.0.1')
    for (const each of [client, upstream]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => [client, upstream].map((end) => end.destroy()))
    }
    client.on('data', (bytes: Buffer) => {
      sent += bytes.toString('latin1')
      upstream.write(bytes)
    })
    let left = Number.POSITIVE_INFINITY
    upstream.on('data', (bytes: Buffer) => {
      // Only long responses are interrupted.
      if (next && bytes.includes('content-disposition')) left = next.after
      client.write(bytes.subarray(0, left))
      left -= bytes.length
      if (left > 0 || !next) return
      if (next.how === 'cut') client.destroy()
      else upstream.pause()
      next = undefined
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    interrupt(after, how) {
      next = { after, how }
    },
    sent: () => sent,
  }
}

const MIB = 1024 * 1024

interface Scene {
  url: string
  token: string
  proxy: HaltingProxy
  archiveBytes: Buffer
  etag: string
  /** The file name, as browsers choose it too. */
  name: string
}

/** A service with an archive of some megabytes, whose links go through a proxy that can fail. */
let scene: Scene

const fileCleanup = cleanupAfterFile()

before(async () => {
  const host = await gitHost()
  fileCleanup.after(host.remove)
  await host.repository('alice/large', { files: { a: incompressible(4 * MIB) } })
  const port = await freePort()
  const flags = ['--base-url', `http://127.0.0.1:${port}`]
  const service = await startSharedService(fileCleanup, { repositories: host.root, flags })
  const proxy = await haltingProxy(fileCleanup, port, () => Number(new URL(service.url).port))
  const token = await service.token('alice')
  const body = JSON.stringify({ repositories: ['large'] })
  await service.call(token, '/user/migrations', { method: 'POST', body })
  await untilEnded(service, token, 1)
  const { headers } = await service.call(token, '/user/migrations/1/archive')
  const archive = await fetch(headers.get('location')!)
  const archiveBytes = Buffer.from(await archive.arrayBuffer())
  const etag = archive.headers.get('etag')!
  const name = /filename=(.+)$/.exec(archive.headers.get('content-disposition')!)![1]!
  assert.match(name, /^migration-1-alice-\d{4}-\d\d-\d\d\.tar\.gz$/)
  scene = { url: service.url, token, proxy, archiveBytes, etag, name }
})

async function createClient(t: TestContext) {
  const commands = await clientCommandLine(t, scene)
  const before = scene.proxy.sent().length
  const sent = () => scene.proxy.sent().slice(before)
  return { ...scene, ...commands, sent, file: join(commands.folder, scene.name) }
}

test('an interrupted download continues to identical bytes', async (t) => {
  const { migration, proxy, sent, archiveBytes, file, folder } = await createClient(t)
  proxy.interrupt(2 * MIB, 'cut')
  const { err } = await migration(0, 'download', '1')
  assert.match(err, /broke: .*; resuming after [\d.]+ MB/)
  assert.match(sent(), /\r\nrange: bytes=\d{6,}-\r\n/)
  assert.match(sent(), /\r\nif-range: "/)
  assert.deepEqual(await readFile(file), archiveBytes)
  assert.deepEqual(await readdir(folder), [scene.name])
})

test('the next download continues where a killed one stopped', async (t) => {
  const { migration, start, proxy, sent, archiveBytes, file, folder } = await createClient(t)
  proxy.interrupt(2 * MIB, 'stall')
  const first = start(['migration', 'download', '1'])
  const part = `${file}.part`
  await until('some of it is there', () => existsSync(part) && statSync(part).size >= MIB)
  first.kill('SIGKILL')
  await first.result
  assert.ok(!existsSync(file))
  const kept = statSync(part).size
  const { err } = await migration(0, 'download', '1')
  assert.match(err, /^resuming after [\d.]+ MB$/m)
  const from = Number(/\r\nrange: bytes=(\d+)-\r\n/.exec(sent())?.[1])
  assert.ok(from >= kept && from < archiveBytes.length, `${kept}, then ${from}`)
  assert.deepEqual(await readFile(file), archiveBytes)
  assert.deepEqual(await readdir(folder), [scene.name])
})

test('leftovers of an earlier download are verified before they are used', async (t) => {
  const { migration, archiveBytes, etag, file, folder } = await createClient(t)
  await writeFile(`${file}.part`, randomBytes(MIB))
  await writeFile(`${file}.part.etag`, '"of another archive"')
  await migration(0, 'download', '1')
  assert.deepEqual(await readFile(file), archiveBytes)

  // The right ETag and wrong bytes, as after a power cut.
  await writeFile(`${file}.part`, Buffer.alloc(MIB))
  await writeFile(`${file}.part.etag`, etag)
  const { err } = await migration(1, 'download', '1', '--force')
  assert.match(err, /damaged .*The downloaded file was removed: download it again/)
  assert.deepEqual(await readFile(file), archiveBytes)
  assert.deepEqual(await readdir(folder), [scene.name])
})

test('a partial file of another user is not touched', async (t) => {
  const { migration, file, folder } = await createClient(t)
  await writeFile(`${file}.part`, 'of a browser')
  const { err } = await migration(1, 'download', '1')
  assert.match(err, /\.part exists and is not a part of this download: rename or remove it/)
  assert.deepEqual(await readdir(folder), [`${scene.name}.part`])
  assert.equal(await readFile(`${file}.part`, 'utf8'), 'of a browser')
})

test('an archive on standard output contains nothing else, and continues after an interruption', async (t) => {
  const { godwit, proxy, archiveBytes, leftovers } = await createClient(t)
  proxy.interrupt(2 * MIB, 'cut')
  const { code, stdout, stderr } = await godwit(['migration', 'download', '1', '--output', '-'])
  assert.equal(code, 0, stderr)
  assert.match(stderr, /resuming after/)
  assert.doesNotMatch(stderr, /Warning/)
  assert.deepEqual(stdout, archiveBytes)
  assert.deepEqual(await leftovers(), [])
})
