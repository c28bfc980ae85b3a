import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import type { Addresses } from '../../repositories/addresses.ts'
import { linkHeader, parsePaging, setLinkHeader } from './pagination.ts'

const HERE = 'https://git.example.com/user/migrations'

for (const [query, page, perPage] of [
  [{}, 1, 30],
  [{ per_page: '100', page: '2' }, 2, 100],
  [{ per_page: '101' }, 1, 100],
  [{ per_page: '0', page: '0' }, 1, 30],
  [{ per_page: '-1', page: '-3' }, 1, 30],
  [{ per_page: 'ten', page: 'two' }, 1, 30],
  [{ per_page: '1.5', page: '' }, 1, 30],
  [{ per_page: ['5', '7'], page: { x: 1 } }, 1, 7],
  [{ page: '999999999999999999999999' }, 1_000_000_000, 30],
  [{ per_page: '9'.repeat(400), page: '000' }, 1, 100],
] as const) {
  test(`paging of ${JSON.stringify(query)}`, () => {
    const paging = parsePaging(query)
    assert.deepEqual([paging.page, paging.perPage], [page, perPage])
    assert.equal(paging.offset, (page - 1) * perPage)
  })
}

function rels(query: string, page: number, perPage: number, total: number): string[] {
  const link = linkHeader(HERE, query, { ...parsePaging({}), page, perPage }, total) ?? ''
  return link
    .split(', ')
    .map((part) => /\?(.*)>; rel="(.*)"$/.exec(part))
    .flatMap((match) => (match ? [`${match[2]} ${match[1]}`] : []))
}

test('a single page has no link header', () => {
  assert.equal(linkHeader(HERE, '', parsePaging({}), 30), undefined)
  assert.equal(linkHeader(HERE, '', parsePaging({}), 0), undefined)
})

test("relations have GitHub's order", () => {
  assert.deepEqual(rels('', 1, 30, 90), ['next page=2', 'last page=3'])
  assert.deepEqual(rels('page=2', 2, 30, 90), [
    'prev page=1',
    'next page=3',
    'last page=3',
    'first page=1',
  ])
  assert.deepEqual(rels('page=3', 3, 30, 90), ['prev page=2', 'first page=1'])
  assert.deepEqual(rels('page=9', 9, 30, 90), ['prev page=3', 'last page=3', 'first page=1'])
})

test("the caller's query is repeated as it was sent", () => {
  assert.deepEqual(rels('per_page=500&page=1', 1, 100, 250), [
    'next per_page=500&page=2',
    'last per_page=500&page=3',
  ])
  assert.deepEqual(rels('page=1&per_page=2&page=1&x=%3Cy', 1, 2, 3), [
    'next page=2&per_page=2&x=%3Cy',
    'last page=2&per_page=2&x=%3Cy',
  ])
})

test('a query cannot break out of the header', () => {
  const link = linkHeader(HERE, 'x=>;rel="next",<', parsePaging({}), 90)!
  assert.equal(link.match(/rel="/g)!.length, 2)
  assert.equal(link.match(/[<>]/g)!.length, 4)
})

for (const [url, next] of [
  ['/api/v3/user/migrations?x=1?2', 'x=1?2&page=2'],
  ['http://proxied.test/api/v3/user/migrations?per_page=30', 'per_page=30&page=2'],
  ['HTTPS://proxied.test/api/v3/user/migrations', 'page=2'],
] as const) {
  test(`${url} gets links with the public address`, () => {
    const links: string[] = []
    const request = { url, query: {}, server: { prefix: '/api/v3' } }
    const reply = { request, header: (_: string, link: string) => links.push(link) }
    const addresses = { api: 'https://git.example.com' } as Addresses
    setLinkHeader(reply as unknown as FastifyReply, addresses, 31)
    assert.match(links[0]!, new RegExp(`^<${RegExp.escape(`${HERE}?${next}`)}>; rel="next"`))
  })
}

test('commas of the query are encoded in links', () => {
  const link = linkHeader(HERE, 'exclude=repositories,others', parsePaging({}), 90)!
  assert.deepEqual(
    link.split(',').map((part) => part.trim()),
    ['next', 'last'].map(
      (rel, at) => `<${HERE}?exclude=repositories%2Cothers&page=${at + 2}>; rel="${rel}"`,
    ),
  )
})
