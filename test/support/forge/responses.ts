import type { ForgeData, User } from './forge-data.ts'
import type { Dialect, Renderer } from './render.ts'

/** The response of a route. */
export interface ForgeResponse {
  status?: number
  body?: unknown
  bytes?: Uint8Array
  headers?: Record<string, string>
}

/** Gitea's `APIContext.NotFound`, with the address of its documentation. */
export const NOT_FOUND: ForgeResponse = {
  status: 404,
  body: { errors: null, message: 'Not Found', url: 'http://127.0.0.1/api/swagger' },
}

/** The response of a proxy while the forge behind it restarts, and of Gitea to a request that its version does not have. */
export const PROXY_NOT_FOUND: ForgeResponse = {
  status: 404,
  headers: { 'content-type': 'text/plain' },
  bytes: Buffer.from('404 page not found\n'),
}

export interface Paging {
  /** 0 if the request has no page. */
  page: number
  limit: number
}

const DEFAULT_PAGE_SIZE = 30
export const MAX_PAGE_SIZE = 50

export function pagingOf(query: URLSearchParams): Paging {
  const requested = Number(query.get('limit') ?? 0)
  const limit = requested <= 0 ? DEFAULT_PAGE_SIZE : Math.min(requested, MAX_PAGE_SIZE)
  return { page: Number(query.get('page') ?? 0), limit }
}

export function cutPage<T>(all: readonly T[], { page, limit }: Paging): T[] {
  const at = (Math.max(1, page) - 1) * limit
  return all.slice(at, at + limit)
}

/** Most lists of Gitea: a page, and the total count. */
export function countedPage<T>(
  all: readonly T[],
  query: URLSearchParams,
  render: (each: T) => unknown,
): ForgeResponse {
  const page = cutPage(all, pagingOf(query)).map(render)
  return { body: page, headers: { 'x-total-count': String(all.length) } }
}

/** Only sent if there is more than one page. */
export function linkHeader(
  url: URL,
  { page, limit }: Paging,
  total: number,
): Record<string, string> {
  const last = Math.ceil(total / limit)
  const current = Math.max(1, page)
  if (last <= 1) return {}
  const to = (n: number, rel: string) => {
    const address = new URL(url)
    address.searchParams.set('page', String(n))
    return `<${address.href}>; rel="${rel}"`
  }
  const links = [
    ...(current < last ? [to(current + 1, 'next'), to(last, 'last')] : []),
    ...(current > 1 ? [to(1, 'first'), to(current - 1, 'prev')] : []),
  ]
  return { link: links.join(',') }
}

/** The arguments of a route. */
export interface RouteContext {
  url: URL
  world: ForgeData
  render: Renderer
  dialect: Dialect
  maxPageSize: number
  viewer: User
  /** The permissions of the token. */
  scopes: readonly string[]
}
