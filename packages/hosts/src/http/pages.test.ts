import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ForgeClient } from '../forge/client/forge-client.ts'
import { HostRequestFailed, HostUnavailable } from '../host-errors.ts'
import type { Json } from './json-fields.ts'
import { listAll, listFiltered, listUnpaged } from './pages.ts'

// The test runner has a timeout. Another one here would make the test depend on the speed of the machine.
const signal = new AbortController().signal

/** Serves a list page by page. `render` may change a page. */
function clientOf(
  rows: number[],
  render: (page: { id: number }[]) => unknown = (page) => page,
  headers: Record<string, string> = {},
) {
  const requested: number[] = []
  const client: Pick<ForgeClient, 'get' | 'url'> = {
    url: 'http://x',
    async get(_, query) {
      const [page, limit] = [Number(query.page ?? 1), Number(query.limit ?? 30)]
      requested.push(page)
      assert.ok(requested.length <= 20_000, 'the listing does not end')
      const cut = rows.slice((page - 1) * limit, page * limit).map((id) => ({ id }))
      return { body: render(cut), header: (name) => headers[name] }
    },
  }
  return { client: client as ForgeClient, requested }
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

describe('a listing', () => {
  it('without a total ends with an empty page, which may be null', async () => {
    const { client, requested } = clientOf(upTo(100), (page) => (page.length > 0 ? page : null))
    assert.equal((await listAll(client, { path: '/l', limit: 50 }, signal)).length, 100)
    assert.deepEqual(requested, [1, 2, 3])
  })

  it('with a total ends when all entries were received', async () => {
    const { client, requested } = clientOf(upTo(100), undefined, { 'x-total-count': '100' })
    assert.equal((await listAll(client, { path: '/l', limit: 50 }, signal)).length, 100)
    assert.deepEqual(requested, [1, 2])
  })

  it('that ignores the page number ends with the second page', async () => {
    const all = upTo(60).map((id) => ({ id }))
    const { client, requested } = clientOf([], () => all)
    assert.equal((await listAll(client, { path: '/l', limit: 50 }, signal)).length, 60)
    assert.deepEqual(requested, [1, 2])
  })

  it('without pages takes one request, and is read page by page if it has pages after all', async () => {
    const unpaged = clientOf(upTo(20), undefined, { 'x-total-count': '20' })
    assert.equal((await listUnpaged(unpaged.client, { path: '/l' }, signal)).length, 20)
    assert.deepEqual(unpaged.requested, [1])
    const paged = clientOf(upTo(80), undefined, { 'x-total-count': '80' })
    assert.equal((await listUnpaged(paged.client, { path: '/l' }, signal)).length, 80)
    assert.deepEqual(paged.requested, [1, 1, 2])
  })

  it('without ids identifies entries by their key, or by all of their fields', async () => {
    const render = (page: { id: number }[]) => page.map(({ id }) => ({ content: `${id}` }))
    for (const keyOf of [undefined, ({ content }: Json) => content]) {
      const { client } = clientOf(upTo(80), render, { 'x-total-count': '80' })
      assert.equal(
        (await listUnpaged(client, { path: '/l', ...(keyOf && { keyOf }) }, signal)).length,
        80,
      )
    }
  })

  /** Serves a list that `change` modifies before each page except the first, with the current total. */
  function shifting(rows: number[], change: (listing: number) => void) {
    let listing = 0
    const headers = {
      get 'x-total-count'() {
        return String(rows.length)
      },
    }
    const { client, requested } = clientOf(rows, undefined, headers)
    const get: ForgeClient['get'] = async (path, query, stop) => {
      if (query.page === 1) listing++
      else change(listing)
      return client.get(path, query, stop)
    }
    return { client: { ...client, get } as ForgeClient, requested }
  }

  it('is repeated if an entry is deleted between two pages, so that none is missing', async () => {
    const rows = upTo(100)
    const { client, requested } = shifting(rows, (listing) => void (listing === 1 && rows.shift()))
    const found = await listAll(client, { path: '/l', limit: 50 }, signal)
    assert.deepEqual(
      found.map(({ id }) => id),
      rows,
    )
    assert.deepEqual(requested, [1, 2, 1, 2])
  })

  it('that shrinks each time is unavailable, and one that counts hidden entries is read twice', async () => {
    const rows = upTo(100)
    const { client } = shifting(rows, () => void rows.shift())
    await assert.rejects(listAll(client, { path: '/l', limit: 50 }, signal), (error) => {
      assert.match(String(error), /http:\/\/x\/l change faster than they can be listed/)
      return error instanceof HostUnavailable
    })
    const isShown = ({ id }: { id: number }) => id !== 7
    const omitting = clientOf(upTo(100), (page) => page.filter(isShown), { 'x-total-count': '100' })
    const missing: number[] = []
    const onMissing = (count: number) => missing.push(count)
    const listing = { path: '/l', limit: 50, onMissing }
    assert.equal((await listAll(omitting.client, listing, signal)).length, 99)
    assert.deepEqual(omitting.requested, [1, 2, 3, 1, 2, 3])
    assert.deepEqual(missing, [1])
  })

  it('that never ends is refused', async () => {
    const last = { id: 0 }
    const { client, requested } = clientOf([], () => [{ id: ++last.id }])
    await assert.rejects(listAll(client, { path: '/l', limit: 50 }, signal), (error) => {
      assert.match(String(error), /http:\/\/x\/l has more than 20000 pages/)
      return error instanceof HostRequestFailed
    })
    assert.equal(requested.length, 20_000)
  })

  const damaged: Record<string, unknown> = { null: null, list: [[[]]], number: 5, empty: {} }
  for (const [name, entry] of Object.entries(damaged))
    it(`with an unusable entry (${name}) is read again, and the entry is counted as missing`, async () => {
      const render = (page: { id: number }[]) => page.map((each) => (each.id === 2 ? entry : each))
      const missing: number[] = []
      const listing = { path: '/l', limit: 50, onMissing: (count: number) => missing.push(count) }
      for (const list of [
        (client: ForgeClient) => listAll(client, listing, signal),
        (client: ForgeClient) => listUnpaged(client, listing, signal),
        (client: ForgeClient) =>
          listFiltered(client, { ...listing, mayOmit: false, omitted: 0 }, signal),
      ]) {
        const { client, requested } = clientOf(upTo(3), render)
        assert.equal((await list(client)).length, 2)
        assert.deepEqual(missing.splice(0), [1])
        assert.ok(requested.filter((page) => page === 1).length >= 2)
      }
      const { client } = clientOf(upTo(3), render)
      await assert.rejects(listAll(client, { path: '/l', limit: 50 }, signal), (error) => {
        assert.ok(error instanceof HostRequestFailed)
        return error.message === 'http://x/l: 1 of its entries cannot be read'
      })
    })

  it('gets an entry at the second attempt that was unusable at the first', async () => {
    let times = 1
    const { client } = clientOf(upTo(3), (page) => (times-- > 0 ? [null, ...page.slice(1)] : page))
    assert.equal((await listAll(client, { path: '/l', limit: 50 }, signal)).length, 3)
  })

  it('that has only unusable entries ends', async () => {
    const { client, requested } = clientOf([], () => [null])
    const listing = { path: '/l', limit: 50, onMissing: () => {} }
    assert.deepEqual(await listAll(client, listing, signal), [])
    assert.ok(requested.length < 100)
    const filtered = { ...listing, mayOmit: true, omitted: 0 }
    assert.deepEqual(await listFiltered(client, filtered, signal), [])
  })

  for (const headers of [
    { 'x-total-count': '1' },
    { 'x-total-count': '5' },
    { 'x-total-count': '1', link: '<x?page=1>; rel="first"' },
    { 'x-total-count': '40', link: '<x?page=1>; rel="first"' },
  ])
    it(`is read to its end if the total contradicts the pages: ${JSON.stringify(headers)}`, async () => {
      const { client } = clientOf(upTo(32), undefined, headers)
      const listing = { path: '/l', limit: 5, onMissing: () => {} }
      assert.equal((await listAll(client, listing, signal)).length, 32)
    })
})

describe('a listing that omits entries from its pages', () => {
  const isShown = ({ id }: { id: number }) => id <= 10 || id > 110
  const render = (page: { id: number }[]) => {
    const shown = page.filter(isShown)
    return shown.length > 0 ? shown : null
  }

  it('continues after empty pages', async () => {
    const { client, requested } = clientOf(upTo(120), render, { 'x-total-count': '10' })
    const listing = { path: '/l', limit: 50, mayOmit: false, omitted: 100 }
    assert.equal((await listFiltered(client, listing, signal)).length, 20)
    assert.deepEqual(requested, [1, 2, 3])
  })

  it('ends after its last entry, even if the forge claims to omit more', async () => {
    const { client, requested } = clientOf(upTo(60))
    const omitted = Number.MAX_SAFE_INTEGER
    const listing = { path: '/l', limit: 50, mayOmit: false, omitted }
    assert.equal((await listFiltered(client, listing, signal)).length, 60)
    assert.equal(requested.length, 102)
  })

  it('ends with a short page if nothing is omitted', async () => {
    const { client, requested } = clientOf(upTo(60))
    const listing = { path: '/l', limit: 50, mayOmit: false, omitted: 0 }
    assert.equal((await listFiltered(client, listing, signal)).length, 60)
    assert.deepEqual(requested, [1, 2])
  })

  it('continues after a page that lacks a few entries which even an administrator does not get', async () => {
    const { client, requested } = clientOf(upTo(120), (page) =>
      page.filter(({ id }) => id !== 7 && id !== 99),
    )
    const listing = { path: '/l', limit: 50, mayOmit: false, omitted: 0 }
    assert.equal((await listFiltered(client, listing, signal)).length, 118)
    assert.deepEqual(requested, [1, 2, 3])
  })

  it('is read to an empty page if entries may be hidden', async () => {
    const { client, requested } = clientOf(upTo(60), (page) =>
      page.filter(({ id }) => id % 2 === 0),
    )
    const listing = { path: '/l', limit: 50, mayOmit: true, omitted: 0 }
    assert.equal((await listFiltered(client, listing, signal)).length, 30)
    assert.deepEqual(requested, [1, 2, 3])
  })
})
