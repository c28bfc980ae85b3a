import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../../repositories/addresses.ts'
import type { Paging } from './paging.ts'

interface Pages {
  addresses: Addresses
  paging: Paging
  total: number
}

/** Sets the `link` header of one page of a list. */
export function setLinkHeader(
  request: FastifyRequest,
  reply: FastifyReply,
  { addresses, paging, total }: Pages,
): void {
  const { address, query } = addressAsked(request, addresses)
  const link = linkHeader(address, query, paging, total)
  if (link) reply.header('link', link)
}

/** Returns the public address of a request, and its query as it was sent. */
export function addressAsked({ url, server }: FastifyRequest, { api }: Addresses) {
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
