import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { SELF_SIGNED } from '../support/forge/self-signed.ts'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { PREVIEW, type SharedService, untilEnded } from '../support/service.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const EXAMPLE = new URL('../../packaging/proxy/nginx.conf', import.meta.url)
const searchPath = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`

/** Options for tests with nginx. */
const needsNginx = skipUnless(isInstalled(), 'nginx is not installed')

function isInstalled(): boolean {
  try {
    execFileSync('which', ['nginx'], { env: { PATH: searchPath } })
    return true
  } catch {
    return false
  }
}

interface Nginx {
  /** Sends a request over TLS, optionally from another local address. */
  get(path: string, headers?: Record<string, string>, from?: string): Promise<IncomingMessage>
  /** Lists the responses that nginx buffers on disk. */
  spooled(): string[]
}

/**
 * Starts nginx with the example configuration of the project; only the port, the certificate and the upstream
 * port differ.
 */
async function startNginx(t: Pick<TestContext, 'after'>, upstream: string): Promise<Nginx> {
  const base = temporaryDirectory(t)
  const port = await freePort()
  const spool = join(base, 'spool')
  mkdirSync(spool)
  writeFileSync(join(base, 'cert.pem'), SELF_SIGNED.cert)
  writeFileSync(join(base, 'key.pem'), SELF_SIGNED.key)
  const site = replaceAll(readFileSync(EXAMPLE, 'utf8'), {
    'server 127.0.0.1:3000;': `server ${upstream};`,
    'listen 80;': `listen 127.0.0.1:${await freePort()};`,
    'listen 443 ssl http2;': `listen 127.0.0.1:${port} ssl http2;`,
    '/etc/letsencrypt/live/migrations.example.com/fullchain.pem': join(base, 'cert.pem'),
    '/etc/letsencrypt/live/migrations.example.com/privkey.pem': join(base, 'key.pem'),
  })
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const spools = kinds.map((kind) => `${kind}_temp_path ${spool};`).join('\n')
  const http = `access_log off;\n${spools}\n${site}`
  writeFileSync(
    join(base, 'nginx.conf'),
    `daemon off;\npid ${base}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${http}\n}\n`,
  )
  const args = ['-p', base, '-c', join(base, 'nginx.conf')]
  let output = ''
  const env = { ...process.env, PATH: searchPath }
  const child = spawn('nginx', args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  t.after(() => stop(child))
  const get: Nginx['get'] = async (path, headers = {}, from = '127.0.0.1') => {
    const outgoing = request({
      ...{ host: '127.0.0.1', port, path, localAddress: from },
      headers: { 'user-agent': 'behind-nginx', ...headers },
      ...{ rejectUnauthorized: false, agent: false },
    })
    outgoing.end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    return response
  }
  await until(
    () => `nginx responds:\n${output}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended:\n${output}`)
      const response = await get('/healthz').catch(() => undefined)
      response?.resume()
      return response?.statusCode === 200
    },
  )
  return { get, spooled: () => readdirSync(spool, { recursive: true }).map(String) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await withTimeout('nginx ends', ended)
}

function replaceAll(text: string, by: Readonly<Record<string, string>>): string {
  return Object.entries(by).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`the example has no "${from}"`)
    return result.replace(from, to)
  }, text)
}

/** More than nginx keeps in memory or buffers on disk by default. */
const LARGE = 24 * 1024 * 1024

describe('the example configuration of nginx', needsNginx, () => {
  let service: SharedService
  let nginx: Nginx
  let git: SlowGit
  let token: string

  const cleanups: (() => unknown)[] = []
  const t = { after: (cleanup: unknown) => void cleanups.unshift(cleanup as () => unknown) }
  after(async () => {
    for (const cleanup of cleanups) await cleanup()
  })

  before(async () => {
    const host = await gitHost()
    t.after(host.remove)
    git = await slowGit()
    t.after(git.remove)
    await git.speedUp()
    const noise = randomBytes(LARGE / 2).toString('hex')
    await host.repository('alice/site', { files: { 'noise.txt': noise } })
    await host.repository('alice/other', { files: { a: 'a' } })
    const flags = ['--trusted-proxies', '127.0.0.1', '--git', git.program]
    service = await startSharedService(t, { repositories: host.root, flags })
    nginx = await startNginx(t, new URL(service.url).host)
    token = await service.token('alice')
  })

  const asAlice = (more = {}) => ({ authorization: `bearer ${token}`, accept: PREVIEW, ...more })

  async function start(name: string): Promise<number> {
    const body = JSON.stringify({ repositories: [name] })
    const response = await service.call(token, '/user/migrations', { method: 'POST', body })
    assert.equal(response.status, 201)
    return ((await response.json()) as { id: number }).id
  }

  test('forwards events as they are sent', async () => {
    await git.slowDown()
    const id = await start('alice/other')
    await git.untilSlow()
    const accept = 'text/event-stream'
    const path = `/user/migrations/${id}/progress`
    try {
      const stream = await withTimeout('a stream begins', nginx.get(path, asAlice({ accept })))
      assert.equal(stream.headers['content-type'], 'text/event-stream')
      const ended = once(stream, 'end')
      const events = await withTimeout(
        'an event arrives while the export goes on',
        readFirstChunk(stream),
      )
      assert.match(events, /^event: progress$/m)
      await git.speedUp()
      await withTimeout('the stream ends with the export', ended)
    } finally {
      await git.speedUp()
    }
  })

  test('forwards a large archive, complete and in ranges, without buffering it on disk', async () => {
    const id = await start('alice/site')
    await untilEnded(service, token, id, 'exported')
    const archive = await nginx.get(`/user/migrations/${id}/archive`, asAlice())
    archive.resume()
    assert.equal(archive.statusCode, 302)
    const { pathname, search } = new URL(archive.headers.location!)
    const full = await bytesOf(await nginx.get(`${pathname}${search}`))
    assert.ok(full.length > LARGE / 2)
    const direct = await fetch(`${service.url}${pathname}${search}`)
    assert.equal(digest(full), digest(Buffer.from(await direct.arrayBuffer())))
    const range = `bytes=${LARGE / 4}-${LARGE / 4 + 999}`
    const part = await nginx.get(`${pathname}${search}`, { range })
    assert.equal(part.statusCode, 206)
    assert.equal(
      part.headers['content-range'],
      `bytes ${LARGE / 4}-${LARGE / 4 + 999}/${full.length}`,
    )
    assert.deepEqual(await bytesOf(part), full.subarray(LARGE / 4, LARGE / 4 + 1000))
    assert.deepEqual(nginx.spooled(), [])
  })

  test('passes on the real address of the client', async () => {
    const spoofed = { 'x-forwarded-for': '203.0.113.9' }
    const response = await nginx.get('/user', asAlice(spoofed), '127.0.0.77')
    response.resume()
    assert.equal(response.statusCode, 200)
    await until(
      () => `the request is logged:\n${service.log()}`,
      () => /"path":"\/user","status":200.*"from":"127\.0\.0\.77"/.test(service.log()),
    )
    assert.ok(!service.log().includes('203.0.113.9'))
    assert.ok(!service.log().includes('untrusted address'))
  })

  test('does not expose metrics', async () => {
    const response = await nginx.get('/metrics')
    response.resume()
    assert.equal(response.statusCode, 404)
  })
})

async function readFirstChunk(stream: IncomingMessage): Promise<string> {
  const [chunk] = (await once(stream, 'data')) as [Buffer]
  return chunk.toString()
}

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>))
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
