import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, rename, stat, truncate } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, test } from 'node:test'
import { isOwnerMark } from '../../packages/server/src/exporter/blob-store-owner.ts'
import { largePack } from '../support/export-sources.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type SlowGit, slowGit } from '../support/slow-git.ts'
import { until, withTimeout } from '../support/wait-until.ts'

const fileCleanup = cleanupAfterFile()
let story: SharedStory
/** Fast unless a test slows it down. */
let git: SlowGit

before(async () => {
  git = await slowGit()
  fileCleanup.after(git.remove)
  await git.speedUp()
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      await largePack(host.path('alice/large'), 40)
      for (const name of ['alice/site', 'alice/new'])
        await host.repository(name, { files: { a: '1' } })
    },
    flags: ['--git', git.program],
  })
})

test('an incomplete download is logged, and counted by its outcome', async () => {
  const { service } = story
  const { id } = await story.migrate(['large'])
  const link = await story.link(id)
  const blobs = join(service.data, 'blobs')
  const segments = await filesBySize(blobs)
  const outcomes = async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text()
    const found = text.matchAll(/^godwit_downloads_total{outcome="(\w+)"} (\d+)$/gm)
    return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]))
  }
  /** Returns the log line with that message, after the first `after` ones. */
  const untilLogged = async (message: string, after = 0) => {
    const lines = () =>
      service
        .log()
        .split('\n')
        .filter((line) => line.includes(message))
    await until(`"${message}" is logged`, () => lines().length > after)
    return JSON.parse(lines()[after]!) as Record<string, number>
  }
  assert.deepEqual(await outcomes(), { complete: 0, ended_by_client: 0, failed: 0 })

  const whole = await (await fetch(link)).arrayBuffer()
  await until('a complete download is counted', async () => (await outcomes()).complete === 1)

  const request = get(link, { agent: false })
  const [response] = await withTimeout('a response arrives', once(request, 'response'))
  await withTimeout('its first bytes arrive', once(response, 'data'))
  request.on('error', () => {}).destroy()
  const ended = await untilLogged('the client ended a download')
  assert.ok(ended.sent! < whole.byteLength && ended.of === whole.byteLength, JSON.stringify(ended))
  assert.equal((await outcomes()).ended_by_client, 1)

  await rename(blobs, `${blobs}-away`)
  const unavailable = await fetch(link)
  assert.equal(unavailable.status, 503)
  assert.ok(Number(unavailable.headers.get('retry-after')) > 0)
  assert.equal(unavailable.headers.get('etag'), null)
  const body = (await unavailable.json()) as object
  assert.deepEqual(Object.keys(body), ['message', 'documentation_url', 'status'])
  const failure = await untilLogged('an archive cannot be read')
  assert.deepEqual([failure.level, failure.sent], [50, 0])
  assert.equal((await outcomes()).failed, 1)

  await rename(`${blobs}-away`, blobs)
  // Only a missing first segment is detected before the response starts.
  const sent: number[] = []
  for (const segment of segments) {
    await rename(segment, `${segment}-away`)
    sent.push(await sentBeforeFailure(1 + sent.length))
    await rename(`${segment}-away`, segment)
  }
  sent.sort((a, b) => a - b)
  assert.equal(sent[0], 0)
  assert.ok(sent[1]! > 0 && sent.at(-1)! < whole.byteLength, sent.join())
  await truncate(segments[0]!, 20_000_000)
  const some = await sentBeforeFailure(1 + sent.length)
  assert.ok(some > 10_000_000 && some < 21_000_000, `${some} bytes`)

  async function sentBeforeFailure(failed: number): Promise<number> {
    const response = await fetch(link)
    if (response.status === 200) await assert.rejects(response.arrayBuffer())
    else assert.equal(response.status, 503)
    await until('it is counted', async () => (await outcomes()).failed === failed + 1)
    const { sent } = await untilLogged('an archive cannot be read', failed)
    assert.equal(sent === 0, response.status === 503)
    return sent!
  }
})

test('an archive that is deleted during its download is no error of the store', async () => {
  const { service } = story
  const { id } = await story.migrate(['large', 'site'])
  const request = get(await story.link(id), { agent: false })
  const [response] = await withTimeout('a response arrives', once(request, 'response'))
  await withTimeout('its first bytes arrive', once(response, 'data'))
  response.pause()
  const path = `/user/migrations/${id}/archive`
  assert.equal((await story.call(path, { method: 'DELETE' })).status, 204)
  const blobs = join(service.data, 'blobs')
  // As if a sweep had deleted the segments.
  await rename(blobs, `${blobs}-away`)
  const errors = () => service.log().split('an archive cannot be read').length
  const before = errors()
  await assert.rejects(Array.fromAsync(response))
  await rename(`${blobs}-away`, blobs)
  await until('the end is logged', () =>
    service.log().includes('the archive was deleted during a download'),
  )
  assert.equal(errors(), before)
})

test('a page of another origin can read a download and its errors', async () => {
  const { id } = await story.migrate(['site'])
  const link = await story.link(id)
  const exposed = /^ETag, .*Content-Disposition/
  for (const [url, range, status] of [
    [link, '', 200],
    [link, 'bytes=0-9', 206],
    [link, 'bytes=999999999-', 416],
    [`${link}0`, '', 403],
  ] as const) {
    const response = await fetch(url, { headers: { origin: 'https://pages.example.com', range } })
    await response.arrayBuffer()
    assert.equal(response.status, status)
    assert.equal(response.headers.get('access-control-allow-origin'), '*', `${status}`)
    assert.match(response.headers.get('access-control-expose-headers')!, exposed, `${status}`)
  }
})

test('an expired archive is refused from that second on', async () => {
  const { id } = await story.migrate(['site'])
  const link = await story.link(id)
  assert.equal((await fetch(link)).status, 200)
  // The next sweep is up to a minute away.
  using database = new DatabaseSync(join(story.service.data, 'godwit.sqlite'), { timeout: 10_000 })
  const expire = database.prepare('update migrations set archive_expires_at = ?')

  expire.run(Date.now() + 60_000)
  const expires = Number(new URL(await story.link(id)).searchParams.get('expires'))
  assert.ok(expires <= Date.now() / 1000 + 60, 'a link outlives its archive')

  expire.run(Date.now())
  assert.equal((await fetch(link)).status, 404)
  for (const path of ['archive', 'archive/link'])
    assert.equal((await story.call(`/user/migrations/${id}/${path}`)).status, 404)
})

test('a download of a deleted archive is 404; one that lacks a segment is an error', async () => {
  const { id } = await story.migrate(['site'])
  const link = await story.link(id)
  using database = new DatabaseSync(join(story.service.data, 'godwit.sqlite'), { timeout: 10_000 })
  const { metadata_key } = database
    .prepare('select metadata_key from migrations where id = ?')
    .get(id) as { metadata_key: string }
  // The state of the row between two queries of a download.
  const setKey = database.prepare('update migrations set metadata_key = ? where id = ?')
  setKey.run(null, id)
  assert.equal((await fetch(link)).status, 404)
  // A state that no deletion leaves behind.
  setKey.run('lost', id)
  assert.equal((await fetch(link)).status, 500)
  setKey.run(metadata_key, id)
  assert.equal((await fetch(link)).status, 200)
})

// The last test, because it stops the service.
test('a stopping service ends its exports while a slow client finishes a download', async () => {
  const { service } = story
  const { id } = await story.migrate(['large'])
  const request = get(await story.link(id), { agent: false })
  const [download] = (await withTimeout('a response arrives', once(request, 'response'))) as [
    IncomingMessage,
  ]
  await git.slowDown()
  await story.start(['new'])
  const pid = await git.untilSlow()

  const stopping = service.stop()
  await until('the git process of the export has ended', () => !isAlive(pid))
  let length = 0
  for await (const piece of download) length += (piece as Buffer).length
  assert.equal(length, Number(download.headers['content-length']))
  await stopping
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Lists the files, largest first. */
async function filesBySize(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !isOwnerMark(entry.name))
  const sized = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name)
      return { path, size: (await stat(path)).size }
    }),
  )
  return sized.sort((a, b) => b.size - a.size).map(({ path }) => path)
}
