import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, rename, stat, truncate } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { largePack } from '../support/export-sources.ts'
import { exportStory, until } from '../support/export-story.ts'

test('a download that does not come to its end is told, and counted by how it ended', async (t) => {
  const story = await exportStory(t, {
    repositories: (host) => largePack(host.path('alice/large'), 40),
  })
  const { service } = story
  const { id } = await story.migrate(['large'])
  const link = await story.link(id)
  const blobs = join(service.data, 'blobs')
  const segment = await largestFile(blobs)
  const outcomes = async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text()
    const found = text.matchAll(/^godwit_downloads_total{outcome="(\w+)"} (\d+)$/gm)
    return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]))
  }
  const told = async (message: string) => {
    const lines = () =>
      service
        .log()
        .split('\n')
        .filter((line) => line.includes(message))
    await until(`"${message}" is logged`, () => lines().length > 0)
    return JSON.parse(lines().at(-1)!) as Record<string, number>
  }
  assert.deepEqual(await outcomes(), { whole: 0, ended_by_client: 0, failed_at_source: 0 })

  const whole = await (await fetch(link)).arrayBuffer()
  await until('a whole one is counted', async () => (await outcomes()).whole === 1)

  const leaving = get(link, { agent: false })
  const [answer] = await once(leaving, 'response')
  await once(answer, 'data')
  leaving.on('error', () => {}).destroy()
  const left = await told('the client ended a download')
  assert.ok(left.sent! < whole.byteLength && left.of === whole.byteLength, JSON.stringify(left))
  assert.equal((await outcomes()).ended_by_client, 1)

  await rename(blobs, `${blobs}-away`)
  const gone = await fetch(link)
  assert.equal(gone.status, 503)
  assert.ok(Number(gone.headers.get('retry-after')) > 0)
  assert.equal(gone.headers.get('etag'), null)
  const body = (await gone.json()) as object
  assert.deepEqual(Object.keys(body), ['message', 'documentation_url', 'status'])
  const lost = await told('an archive cannot be read')
  assert.deepEqual([lost.level, lost.sent], [50, 0])
  assert.equal((await outcomes()).failed_at_source, 1)

  await rename(`${blobs}-away`, blobs)
  await truncate(segment, 20_000_000)
  const cut = await fetch(link)
  assert.equal(cut.status, 200)
  await assert.rejects(cut.arrayBuffer())
  await until('the cut is counted', async () => (await outcomes()).failed_at_source === 2)
  await until('the cut is logged', async () => (await told('an archive cannot be read')).sent! > 0)
})

test('an archive past its time is refused from that second on', async (t) => {
  const story = await exportStory(t, {
    repositories: (host) => host.repository('alice/site', { files: { a: '1' } }),
  })
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

async function largestFile(root: string): Promise<string> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sized = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name)
      return { path, size: (await stat(path)).size }
    }),
  )
  return sized.sort((a, b) => b.size - a.size)[0]!.path
}
