import type { Octokit } from '@octokit/core'
import type { PaginateInterface } from '@octokit/plugin-paginate-rest'

/** A response, with the ETag for the next conditional request. */
export interface ApiResponse<T> {
  data: T
  etag: string | undefined
  /** The number of items on all pages, if this is a page of a list. */
  total: number
  /** The cursor of the next page, if the list has cursors and more entries. */
  next?: string | undefined
}

/** The result of a conditional request whose ETag still matches. */
export const UNCHANGED = Symbol('unchanged')

export type ReadOptions = {
  signal?: AbortSignal
  /** The ETag of the last response. The result is `UNCHANGED` while it matches. */
  etag?: string | undefined
}

export type PageOptions = ReadOptions & {
  page: number
  perPage: number
}

export type Calls = ReturnType<typeof createCalls>

/** Returns functions that send requests with the server's media type. */
export function createCalls(octokit: Octokit & { paginate: PaginateInterface }, mediaType: string) {
  const accept = { accept: mediaType }

  async function read<T>(
    route: string,
    { signal, etag, ...parameters }: ReadOptions & Record<string, unknown>,
  ): Promise<ApiResponse<T> | typeof UNCHANGED> {
    const headers = { ...accept, ...(etag !== undefined && { 'if-none-match': etag }) }
    try {
      const request = { ...(signal && { signal }) }
      const response = await octokit.request(route, { ...parameters, headers, request })
      const total = Number(response.headers['x-total-count'] ?? Number.NaN)
      const [, next] =
        /[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(response.headers.link ?? '') ?? []
      return { data: response.data as T, etag: response.headers.etag, total, next }
    } catch (error) {
      if (isStatus(error, 304)) return UNCHANGED
      throw error
    }
  }

  /** Reads without an ETag, so the response is never `UNCHANGED`. */
  async function readFull<T>(route: string, options: ReadOptions & Record<string, unknown>) {
    const response = await read<T>(route, { ...options, etag: undefined })
    if (response === UNCHANGED) throw new Error('answered 304 to an unconditional request')
    return response
  }

  /** Reads all pages of a list, and maps each item by `keep`. */
  const readAll = <T, Kept>(
    url: string,
    { signal, ...parameters }: ReadOptions & Record<string, unknown>,
    keep: (each: T) => Kept,
  ): Promise<Kept[]> =>
    octokit.paginate<T, Kept>(
      {
        ...{ method: 'GET', url, ...parameters, per_page: 100 },
        headers: accept,
        request: { ...(signal && { signal }) },
      },
      ({ data }) => data.map(keep),
    )

  async function openStream(
    route: string,
    headers: Record<string, string>,
    { signal, ...parameters }: { signal: AbortSignal } & Record<string, unknown>,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const request = { signal, parseSuccessResponseBody: false }
    const { data } = await octokit.request(route, { ...parameters, headers, request })
    return data as ReadableStream<Uint8Array<ArrayBuffer>>
  }

  async function change<T>(
    route: string,
    { signal, ...parameters }: { signal?: AbortSignal } & Record<string, unknown>,
  ): Promise<T> {
    const request = { ...(signal && { signal }) }
    const { data } = await octokit.request(route, { ...parameters, headers: accept, request })
    return data as T
  }

  return { read, readFull, readAll, openStream, change }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'status' in error && error.status === status
}
