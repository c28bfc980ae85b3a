import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { type Nginx, needsNginx, nginxBefore } from '../support/nginx.ts'
import { PREVIEW, type SharedService, untilEnded } from '../support/service.ts'
import { startInRow } from '../support/service-row.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'
import { inTime, until } from '../support/wait-until.ts'

/** More than nginx would hold in memory, and than it would write to its disk without saying so. */
const LARGE = 24 * 1024 * 1024

describe('behind nginx, by the example', needsNginx, () => {
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
    await git.hurry()
    const noise = randomBytes(LARGE / 2).toString('hex')
    await host.repository('alice/site', { files: { 'noise.txt': noise } })
    await host.repository('alice/other', { files: { a: 'a' } })
    const flags = ['--trusted-proxies', '127.0.0.1', '--git', git.program]
    service = await startInRow(t, { repositories: host.root, flags })
    nginx = await nginxBefore(t, new URL(service.url).host)
    token = await service.token('alice')
  })

  const asAlice = (more = {}) => ({ authorization: `bearer ${token}`, accept: PREVIEW, ...more })

  async function start(name: string): Promise<number> {
    const body = JSON.stringify({ repositories: [name] })
    const answer = await service.call(token, '/user/migrations', { method: 'POST', body })
    assert.equal(answer.status, 201)
    return ((await answer.json()) as { id: number }).id
  }

  test('events arrive as they are sent', async () => {
    await git.dawdle()
    const id = await start('alice/other')
    await git.pid()
    const accept = 'text/event-stream'
    const path = `/user/migrations/${id}/progress`
    try {
      const stream = await inTime('a stream begins', nginx.get(path, asAlice({ accept })))
      assert.equal(stream.headers['content-type'], 'text/event-stream')
      const ended = once(stream, 'end')
      const told = await inTime('an event arrives while the export goes on', firstWords(stream))
      assert.match(told, /^event: progress$/m)
      await git.hurry()
      await inTime('the stream ends with the export', ended)
    } finally {
      await git.hurry()
    }
  })

  test('a large archive passes whole, in parts, and leaves nothing on the disk of nginx', async () => {
    const id = await start('alice/site')
    await untilEnded(service, token, id, 'exported')
    const archive = await nginx.get(`/user/migrations/${id}/archive`, asAlice())
    archive.resume()
    assert.equal(archive.statusCode, 302)
    const { pathname, search } = new URL(archive.headers.location!)
    const whole = await bytesOf(await nginx.get(`${pathname}${search}`))
    assert.ok(whole.length > LARGE / 2)
    const direct = await fetch(`${service.url}${pathname}${search}`)
    assert.equal(digest(whole), digest(Buffer.from(await direct.arrayBuffer())))
    const range = `bytes=${LARGE / 4}-${LARGE / 4 + 999}`
    const part = await nginx.get(`${pathname}${search}`, { range })
    assert.equal(part.statusCode, 206)
    assert.equal(
      part.headers['content-range'],
      `bytes ${LARGE / 4}-${LARGE / 4 + 999}/${whole.length}`,
    )
    assert.deepEqual(await bytesOf(part), whole.subarray(LARGE / 4, LARGE / 4 + 1000))
    assert.deepEqual(nginx.spooled(), [])
  })

  test('the log has the address of the client, whatever the client says it is', async () => {
    const spoofed = { 'x-forwarded-for': '203.0.113.9' }
    const answer = await nginx.get('/user', asAlice(spoofed), '127.0.0.77')
    answer.resume()
    assert.equal(answer.statusCode, 200)
    await until(
      () => `the request is logged:\n${service.log()}`,
      () => /"path":"\/user","status":200.*"from":"127\.0\.0\.77"/.test(service.log()),
    )
    assert.ok(!service.log().includes('203.0.113.9'))
    assert.ok(!service.log().includes('untrusted address'))
  })

  test('figures of the service stay inside', async () => {
    const answer = await nginx.get('/metrics')
    answer.resume()
    assert.equal(answer.statusCode, 404)
  })
})

async function firstWords(stream: IncomingMessage): Promise<string> {
  const [chunk] = (await once(stream, 'data')) as [Buffer]
  return chunk.toString()
}

async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>))
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
