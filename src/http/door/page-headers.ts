import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../../repositories/addresses.ts'
import { linkHeader } from './link-header.ts'
import type { Paging } from './paging.ts'

interface Pages {
  /** What stands before the API's own paths in the request's. */
  prefix: string
  addresses: Addresses
  paging: Paging
  total: number
}

/** The way to the other pages of a list. */
export function tellPages(
  request: FastifyRequest,
  reply: FastifyReply,
  { prefix, addresses, paging, total }: Pages,
): void {
  const [path, query = ''] = request.url.slice(prefix.length).split('?', 2)
  const link = linkHeader(`${addresses.api}${path}`, query, paging, total)
  if (link) reply.header('link', link)
}
