import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { archiveLinks } from '../../packages/server/src/http/credentials/archive-links.ts'
import {
  assertNothingLeftOver,
  blobsOf,
  changeRows,
  repositorySegments,
  rowsOf,
} from '../support/export-leftovers.ts'
import { type SharedStory, sharedExportStory, until } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'

const twoRepositories = (t: Pick<TestContext, 'after'>) =>
  sharedExportStory(t, {
    async repositories(host) {
      await host.repository('alice/site', { files: { a: 'site' } })
      await host.repository('alice/blog', { files: { a: 'blog' } })
    },
  })

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

type Created = { created_at: string }

const fileCleanup = cleanupAfterFile()
let story: SharedStory

before(async () => {
  story = await twoRepositories(fileCleanup)
})

test('a deleted archive is gone at once, and its migration stays', async () => {
  const { service, call, migrate, link } = story
  const { id } = await migrate(['site', 'blog'])
  const address = await link(id)
  const path = `/user/migrations/${id}`
  const deleteArchive = async () => (await call(`${path}/archive`, { method: 'DELETE' })).status
  assert.equal(await deleteArchive(), 204)
  assert.equal((await call(`${path}/archive`)).status, 404)
  assert.equal((await fetch(address)).status, 404)
  assert.equal(await deleteArchive(), 404)
  const status = (await (await call(path)).json()) as Record<string, unknown>
  assert.equal(status.state, 'exported')
  assert.ok(!('archive_url' in status))
  assert.equal((status.repositories as unknown[]).length, 2)
  await until('the metadata of the archive is deleted', () =>
    isDeepStrictEqual(blobsOf(service), repositorySegments(service)),
  )
  assertNothingLeftOver(service)
})

test('an archive can be downloaded completely or in any range, with its headers', async () => {
  const { call, migrate, link, service } = story
  const { id, archive_url } = await migrate(['site', 'blog'])
  assert.equal(archive_url, `${service.url}/user/migrations/${id}/archive`)
  const address = await link(id)
  const { created_at } = (await (await call(`/user/migrations/${id}`)).json()) as Created
  const day = new Date(created_at).toISOString().slice(0, 10)

  const response = await fetch(address)
  const whole = await bytesOf(response)
  assert.ok(gunzipSync(whole).length > 0)
  const { length } = whole
  const etag = response.headers.get('etag')!
  assert.match(etag, /^"[^"]+"$/)
  const expectedHeaders = {
    'content-type': 'application/x-gzip',
    'content-disposition': `attachment; filename=migration-${id}-alice-${day}.tar.gz`,
    'content-length': String(length),
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    etag,
  }
  const head = await fetch(address, { method: 'HEAD' })
  for (const each of [response, head]) {
    assert.equal(each.status, 200)
    for (const [name, value] of Object.entries(expectedHeaders))
      assert.equal(each.headers.get(name), value, name)
  }

  const fetchRange = (range: string, more = {}) => fetch(address, { headers: { range, ...more } })
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 1],
    ['bytes=10-999', 10, 1000],
    [`bytes=${length - 20}-`, length - 20, length],
    [`bytes=${length - 20}-${length + 20}`, length - 20, length],
    ['bytes=-7', length - 7, length],
    [`bytes=-${length + 7}`, 0, length],
  ] as const) {
    const part = await fetchRange(range)
    assert.equal(part.status, 206, range)
    assert.equal(part.headers.get('content-range'), `bytes ${start}-${end - 1}/${length}`)
    assert.equal(part.headers.get('content-length'), String(end - start))
    assert.ok((await bytesOf(part)).equals(whole.subarray(start, end)), range)
  }
  for (const range of [`bytes=${length}-`, 'bytes=-0']) {
    const outside = await fetchRange(range)
    assert.equal(outside.status, 416, range)
    assert.equal(outside.headers.get('content-range'), `bytes */${length}`)
  }
  assert.equal((await fetchRange('bytes=5-9', { 'if-range': etag })).status, 206)
  for (const other of ['"other"', `W/${etag}`, 'Wed, 01 Jan 2020 00:00:00 GMT']) {
    const changed = await fetchRange('bytes=5-9', { 'if-range': other })
    assert.equal(changed.status, 200, other)
    assert.ok((await bytesOf(changed)).equals(whole), other)
  }
})

test('a changed or expired link is rejected', async () => {
  const { service, migrate, link } = story
  const [first, second] = [await migrate(['site']), await migrate(['blog'])]
  const url = new URL(await link(first.id))
  const guidOf = async (id: number) => /archives\/(.+)\.tar/.exec(await link(id))![1]!
  const sql = "select value from secrets where name = 'link-key'"
  const [{ value }] = rowsOf<{ value: string }>(service, sql) as [{ value: string }]
  const links = archiveLinks(service.url, Buffer.from(value, 'hex'), 300_000)
  const invalidLinks = {
    'no signature': url.href.replace(/&.*/, ''),
    'a wrong signature': url.href.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    'a later expiry': url.href.replace(/expires=\d/, 'expires=9'),
    'another archive': url.href.replace(await guidOf(first.id), await guidOf(second.id)),
    'a link that has expired': links.sign(await guidOf(first.id), Date.now() - 301_000),
  }
  for (const [what, href] of Object.entries(invalidLinks)) {
    const response = await fetch(href)
    assert.equal(response.status, 403, what)
    assert.doesNotMatch(await response.text(), /[0-9a-f]{64}/)
  }
  // A link that the same key signs now is valid, so the last one was rejected because it has expired.
  assert.equal((await fetch(links.sign(await guidOf(first.id), Date.now()))).status, 200)
})

test('an expired archive is gone', async (t) => {
  const { service, call, migrate } = await twoRepositories(t)
  const { id } = await migrate(['site'])
  const path = `/user/migrations/${id}`
  const status = async () => (await (await call(path)).json()) as Record<string, unknown>
  assert.ok('archive_url' in (await status()))
  await service.stop()
  changeRows(service, 'update migrations set archive_expires_at = 1')
  await service.restart()
  await until('the archive is gone', async () => !('archive_url' in (await status())))
  assert.equal((await call(`${path}/archive`)).status, 404)
  assert.equal((await status()).state, 'exported')
})
