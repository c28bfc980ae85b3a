import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeServer } from '../../../../test/support/fake-server.ts'
import { type DownloadTarget, downloadArchive } from './download-archive.ts'

/** Holds the bytes of a download in memory. */
class MemoryTarget implements DownloadTarget {
  text: string
  etag: string | undefined

  constructor(text = '', etag?: string) {
    this.text = text
    this.etag = etag
  }

  get position(): number {
    return this.text.length
  }

  async begin(etag: string | undefined): Promise<void> {
    Object.assign(this, { text: '', etag })
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.text += Buffer.from(bytes).toString()
  }
}

const options = { signal: new AbortController().signal, onBytes() {}, onError() {} }

const apiAt = (url: string, link = `${url}/archive`) => ({
  server: { url, userAgent: 'godwit/test' },
  send: fetch,
  archiveLink: async () => new URL(link),
})

test('a part of another archive is never continued, even if the server ignores if-range', async (t) => {
  const { url, requests } = await fakeServer(t, ({ headers }, response) => {
    if (headers.range === undefined)
      return void response.writeHead(200, { etag: '"new"' }).end('new bytes')
    const partial = { etag: '"new"', 'content-range': 'bytes 3-8/9' }
    response.writeHead(206, partial).end(' bytes')
  })
  const target = new MemoryTarget('old', '"old"')
  await downloadArchive(apiAt(url), 1, target, options)
  assert.deepEqual([target.text, target.etag], ['new bytes', '"new"'])
  assert.deepEqual(
    requests.map(({ headers }) => [headers.range, headers['if-range']]),
    [
      ['bytes=3-', '"old"'],
      [undefined, undefined],
    ],
  )
})

test('a link without encryption is not followed from a server with it', async (t) => {
  const { url, requests } = await fakeServer(t, (_, response) => void response.end('bytes'))
  const target = new MemoryTarget()
  await assert.rejects(
    downloadArchive(apiAt('https://git.example', `${url}/archive`), 1, target, options),
    /redirects to an address without encryption/,
  )
  assert.equal(requests.length, 0)
})
