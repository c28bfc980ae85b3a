import { InvalidRequest } from '@godwit/lib/request-errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../../repositories/addresses.ts'
import { type EtagOptions, sendJsonWithEtag } from './json-response.ts'

const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100
/** Far beyond any list, and small enough that its offset is a safe integer. */
const MAX_PAGE = 1_000_000_000

export type Paging = { page: number; perPage: number; offset: number; limit: number }

/** Returns the page that a query requests. Invalid values are ignored. */
export function parsePaging(sent: unknown): Paging {
  const query = sent as Record<string, unknown>
  const perPage = Math.min(naturalNumber(query.per_page) ?? DEFAULT_PER_PAGE, MAX_PER_PAGE)
  const page = Math.min(naturalNumber(query.page) ?? 1, MAX_PAGE)
  return { page, perPage, offset: (page - 1) * perPage, limit: perPage }
}

function naturalNumber(value: unknown): number | undefined {
  const text = Array.isArray(value) ? value.at(-1) : value
  if (typeof text !== 'string' || !/^\d+$/.test(text)) return undefined
  return Number(text) || undefined
}

/** Sets the `link` header of the page that the query requests of a list of `total` entries, and returns the page. */
export function setLinkHeader(reply: FastifyReply, addresses: Addresses, total: number): Paging {
  const { address, query } = requestAddress(reply.request, addresses)
  const paging = parsePaging(reply.request.query)
  const link = linkHeader(address, query, paging, total)
  if (link) reply.header('link', link)
  return paging
}

/** Returns the public address of a request, and its query as it was sent. */
function requestAddress({ url, server }: FastifyRequest, { api }: Addresses) {
  // Some proxies send an absolute URL.
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const local = path.slice(server.prefix.length)
  const end = local.indexOf('?')
  const [route, query] = end < 0 ? [local, ''] : [local.slice(0, end), local.slice(end + 1)]
  return { address: `${api}${route}`, query }
}

/**
 * Returns the `link` header of one page, or undefined if there is only one. The addresses repeat the caller's query as it was sent,
 * with another page number; the relations have GitHub's order.
 */
export function linkHeader(
  address: string,
  rawQuery: string,
  { page, perPage }: Paging,
  total: number,
): string | undefined {
  const last = Math.max(1, Math.ceil(total / perPage))
  if (last === 1 && page === 1) return undefined
  const relations: [rel: string, page: number][] = []
  if (page > 1) relations.push(['prev', Math.min(page - 1, last)])
  if (page < last) relations.push(['next', page + 1])
  if (page !== last) relations.push(['last', last])
  if (page > 1) relations.push(['first', 1])
  return relations
    .map(([rel, to]) => `<${address}?${withPage(rawQuery, to)}>; rel="${rel}"`)
    .join(', ')
}

function withPage(rawQuery: string, page: number): string {
  const isPage = (part: string) => part === 'page' || part.startsWith('page=')
  const parts = rawQuery.split('&').filter((part) => part !== '')
  const at = parts.findIndex(isPage)
  const others = parts.filter((part, index) => index === at || !isPage(part))
  if (at < 0) others.push(`page=${page}`)
  else others[others.findIndex(isPage)] = `page=${page}`
  // Some clients split the header at every comma.
  return others.join('&').replace(/[<>",\s]/g, encodeURIComponent)
}

/**
 * Returns the cursor of a query, or undefined without one. Throws InvalidRequest if `parse` returns undefined: the first page instead of
 * the requested one would make a client that shortens its cursors read the list for ever.
 */
export function parseCursor<T>(
  { cursor = '' }: Record<string, unknown>,
  parse: (text: unknown) => T | undefined,
): T | undefined {
  if (cursor === '') return undefined
  const parsed = parse(cursor)
  if (parsed === undefined) throw new InvalidRequest([{ field: 'cursor', code: 'invalid' }])
  return parsed
}

/** Sets the `link` header to the URL of this request with another cursor. */
export function setNextLink(reply: FastifyReply, addresses: Addresses, cursor: number | string) {
  const { address, query } = requestAddress(reply.request, addresses)
  const parameters = new URLSearchParams(query)
  parameters.set('cursor', String(cursor))
  reply.header('link', `<${address}?${parameters}>; rel="next"`)
}

type ListPage = { total: number; body: readonly unknown[] }

/** Sends one page, which is all that the store has read. `total` is the length of the complete list. */
export function sendPage(
  reply: FastifyReply,
  addresses: Addresses,
  { total, body, ...options }: Pick<EtagOptions, 'insertCredentials'> & ListPage,
): FastifyReply {
  setLinkHeader(reply, addresses, total)
  reply.header('x-total-count', total)
  return sendJsonWithEtag(reply, body, { ...options, extraEtagParts: [total] })
}

/** Sends the page that the query requests of a list that is completely in memory. */
export function sendPageOf<T>(
  reply: FastifyReply,
  addresses: Addresses,
  all: readonly T[],
  render: (item: T) => unknown,
): FastifyReply {
  const { offset, limit } = setLinkHeader(reply, addresses, all.length)
  const body = all.slice(offset, offset + limit).map((item) => render(item))
  return sendJsonWithEtag(reply, body, { extraEtagParts: [all.length] })
}
