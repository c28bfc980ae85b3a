import type { Octokit } from '@octokit/core'
import type { PaginateInterface } from '@octokit/plugin-paginate-rest'

/** A read, and the validator that tells the next one whether anything has changed. */
export interface Answer<T> {
  data: T
  etag: string | undefined
  /** How many there are in all, where the answer is a page of them. */
  total: number
}

/** What was read before is still so. */
export const UNCHANGED = Symbol('unchanged')

export type ReadOptions = {
  signal?: AbortSignal
  /** The validator of what is known already; the answer is then `UNCHANGED` while it is so. */
  etag?: string | undefined
}

export type PageOptions = ReadOptions & {
  page: number
  perPage: number
}

export type Calls = ReturnType<typeof callsOf>

/** Reads and changes by this client, in the media type that the server has. */
export function callsOf(octokit: Octokit & { paginate: PaginateInterface }, mediaType: string) {
  const accept = { accept: mediaType }

  async function read<T>(
    route: string,
    { signal, etag, ...parameters }: ReadOptions & Record<string, unknown>,
  ): Promise<Answer<T> | typeof UNCHANGED> {
    const headers = { ...accept, ...(etag !== undefined && { 'if-none-match': etag }) }
    try {
      const request = { ...(signal && { signal }) }
      const answer = await octokit.request(route, { ...parameters, headers, request })
      const total = Number(answer.headers['x-total-count'] ?? Number.NaN)
      return { data: answer.data as T, etag: answer.headers.etag, total }
    } catch (error) {
      if (isStatus(error, 304)) return UNCHANGED
      throw error
    }
  }

  /** A read that brings no validator is always answered in full. */
  async function readAnew<T>(route: string, options: ReadOptions & Record<string, unknown>) {
    const answer = await read<T>(route, { ...options, etag: undefined })
    if (answer === UNCHANGED) throw new Error('answered 304 to an unconditional request')
    return answer
  }

  /** However many pages that takes; `keep` says what of each is wanted. */
  const readAll = <T, Kept>(
    url: string,
    { signal, ...parameters }: { signal: AbortSignal } & Record<string, unknown>,
    keep: (each: T) => Kept,
  ): Promise<Kept[]> =>
    octokit.paginate<T, Kept>(
      {
        ...{ method: 'GET', url, ...parameters, per_page: 100 },
        headers: accept,
        request: { signal },
      },
      ({ data }) => data.map(keep),
    )

  /** Bytes as they come. */
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

  return { read, readAnew, readAll, openStream, change }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'status' in error && error.status === status
}
