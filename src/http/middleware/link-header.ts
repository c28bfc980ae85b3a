import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../../repositories/addresses.ts'
import type { Paging } from './paging.ts'

interface Pages {
  addresses: Addresses
  paging: Paging
  total: number
}

/** The way to the other pages of a list. */
export function setLinkHeader(
  request: FastifyRequest,
  reply: FastifyReply,
  { addresses, paging, total }: Pages,
): void {
  const { address, query } = addressAsked(request, addresses)
  const link = linkHeader(address, query, paging, total)
  if (link) reply.header('link', link)
}

/** Our own address for what was asked, and its query as it was spelt. */
export function addressAsked({ url, server }: FastifyRequest, { api }: Addresses) {
  // Some proxies send the whole address.
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const asked = path.slice(server.prefix.length)
  const end = asked.indexOf('?')
  const [place, query] = end < 0 ? [asked, ''] : [asked.slice(0, end), asked.slice(end + 1)]
  return { address: `${api}${place}`, query }
}

/**
 * The `Link` header of one page, or undefined where all fits on one. Addresses repeat the caller's own query, as it was
 * spelt, with another page number; the order of the relations is the one clients have always seen.
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
  // Some clients take every comma of the header for the end of an address.
  return others.join('&').replace(/[<>",\s]/g, encodeURIComponent)
}
