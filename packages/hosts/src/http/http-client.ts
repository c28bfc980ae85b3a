import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '@godwit/lib/errno'
import { oneLine } from '@godwit/lib/terminal-text'
import {
  HostNotFound,
  HostRequestFailed,
  HostServerError,
  HostUnavailable,
} from '../host-errors.ts'
import { normalizeHostUrl } from '../host-url.ts'
import {
  explainConnectionError,
  type HttpRequest,
  type HttpResponse,
  isTlsError,
  type Payload,
  type ResponseTimeout,
  readApiError,
  readJson,
  sendRequest,
  startTimeout,
  TransientFailure,
} from './http-response.ts'

export interface HttpOptions {
  /** Such as `https://git.example.com`, or `https://example.com/git`. */
  url: string
  /** Sent in a header to this host only. It is never part of a URL, a message or a log. If empty, requests are anonymous. */
  token: string
  /** Without it, requests are not limited. */
  budget?: RequestBudget
  /** Origins of the host's object storage. A download follows a redirect to one of them, without the token. */
  storageOrigins?: readonly string[]
  /** The path of the API below `url`; empty if it is not set. */
  apiPath?: string
  /** Whether the token is sent as a password, which the addresses of git and git-lfs require. */
  isPassword?: boolean
  /** The longest time that a request waits because of Retry-After. For a longer one it rejects, so that a job goes back to the queue. */
  maxWaitMs?: number
  /** How long to wait for the response, and then for each part of its body. */
  timeoutMs?: number
  /** Pause before the second attempt; it doubles for the third. */
  pauseMs?: number
  now?: () => number
}

/** Limits the requests to one host, of all processes together. */
export interface RequestBudget {
  /** Counts one request before it is sent. Rejects with HostUnavailable while no request may be sent. */
  take(): Promise<void>
  /** Blocks the requests of all processes until this time, because the host sent Retry-After. */
  holdUntil(time: number): Promise<void>
}

export type Query = Readonly<Record<string, string | number>>

export interface ApiResponse {
  body: unknown
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined
}

/** A request that changes something. */
export interface Change {
  method: 'POST' | 'PUT' | 'PATCH'
  /** Sent as JSON. */
  json?: object
  /** Sent as it is. */
  payload?: Payload
  headers?: Record<string, string>
}

const MAX_ATTEMPTS = 3
/** An upload gets more time for each byte: this is 50 kB/s. */
const MIN_UPLOAD_BYTES_PER_MS = 50
const DEFAULTS = { maxWaitMs: 2000, timeoutMs: 60_000, pauseMs: 500, now: Date.now }
/** When to retry if the host is unreachable or sent 429 without Retry-After. */
export const RETRY_AFTER_MS = 30_000
/** The longest Retry-After that is obeyed. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000

/** Requests to the API of a host. */
export interface ApiClient extends Pick<HttpClient, 'url' | 'now' | 'get' | 'download'> {
  /** Resolves if the API of the host responds, so that a 404 comes from the host itself and not from a proxy in front of it. */
  probe(signal: AbortSignal): Promise<unknown>
}

/**
 * Sends requests to one host, with one token. Every method rejects with HostUnavailable, HostRequestFailed, HostNotFound or
 * HostServerError.
 */
export class HttpClient {
  /** Without a trailing slash. */
  readonly url: string
  readonly #origin: string
  readonly #headers: Record<string, string>
  readonly #options: HttpOptions & typeof DEFAULTS
  #clockAheadMs = 0

  constructor(options: HttpOptions) {
    this.url = normalizeHostUrl(options.url)
    this.#origin = new URL(this.url).origin
    this.#options = { ...DEFAULTS, ...options }
    const authorization = options.token && { authorization: authorizationOf(options) }
    this.#headers = { ...authorization, 'user-agent': 'godwit' }
  }

  /** Returns the time of the host's clock, according to its last response. */
  now = () => this.#options.now() + this.#clockAheadMs

  /** Gets JSON below the path of the API. `path` begins with a slash and has its segments encoded. */
  get(path: string, query: Query, signal: AbortSignal): Promise<ApiResponse> {
    const search = new URLSearchParams(query as Record<string, string>).toString()
    const { apiPath = '' } = this.#options
    const url = `${this.url}${apiPath}${path}${search && `?${search}`}`
    return this.#retry(url, signal, async (timeout) => {
      const headers = { accept: 'application/json' }
      const response = await this.#send(url, { method: 'GET', headers }, timeout.signal)
      this.#rejectRedirect(response, url, URL_ADVICE)
      await this.#rejectFailure(response, url)
      const body = await readJson(response, withoutQuery(url), timeout.renew)
      return { body, header: response.header }
    })
  }

  /** Requests a file. `path` is relative to the host's URL. The caller reads or discards the body of the response. */
  download(path: string, signal: AbortSignal, accept = 'application/octet-stream') {
    return this.#retry(`${this.url}${path}`, signal, async (timeout) => {
      let url = `${this.url}${path}`
      let response = await this.#send(url, { method: 'GET', headers: { accept } }, timeout.signal)
      const target = redirectTarget(response, url)
      if (target && this.#options.storageOrigins?.includes(target.origin)) {
        response.discard()
        url = target.href
        response = await this.#send(url, { method: 'GET' }, timeout.signal)
      }
      this.#rejectRedirect(response, url, STORAGE_ADVICE)
      await this.#rejectFailure(response, url)
      return response
    })
  }

  /**
   * Sends a change to a path of the host, or to a URL that the host returned, such as one of its object storage. Returns the JSON
   * of the response, or undefined if it is not JSON. The token is sent only to the host. If the response to a POST is lost, it is not
   * sent again, because the host may have made the change: the caller must check.
   */
  change(target: string, change: Change, signal: AbortSignal): Promise<unknown> {
    const { method, json, headers } = change
    const url = target.startsWith('/') ? `${this.url}${target}` : target
    const bytes = json && Buffer.from(JSON.stringify(json))
    const payload = bytes ? { bytes: bytes.length, open: () => [bytes] } : change.payload
    const type = json && { 'content-type': 'application/json' }
    const sentHeaders = { accept: 'application/json', ...type, ...headers }
    const request = { method, payload, headers: sentHeaders }
    const timeoutMs = this.#options.timeoutMs + (payload?.bytes ?? 0) / MIN_UPLOAD_BYTES_PER_MS
    const attempt = async (timeout: ResponseTimeout) => {
      const response = await this.#send(url, request, timeout.signal)
      this.#rejectRedirect(response, url, URL_ADVICE)
      await this.#rejectFailure(response, url, method)
      if (/\bjson\b/i.test(response.header('content-type') ?? '') && response.status !== 204)
        return await readJson(response, withoutQuery(url), timeout.renew)
      response.discard()
      return undefined
    }
    const maxAttempts = method === 'POST' ? 1 : MAX_ATTEMPTS
    return this.#retry(url, signal, attempt, { timeoutMs, maxAttempts })
  }

  async #retry<T>(
    url: string,
    signal: AbortSignal,
    attempt: (timeout: ResponseTimeout) => Promise<T>,
    { timeoutMs = this.#options.timeoutMs, maxAttempts = MAX_ATTEMPTS } = {},
  ): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      signal.throwIfAborted()
      const timeout = startTimeout(timeoutMs, signal)
      try {
        return await attempt(timeout)
      } catch (error) {
        signal.throwIfAborted()
        const reason: unknown = timeout.signal.aborted ? timeout.signal.reason : error
        await sleep(this.#pauseAfter(reason, attempts, maxAttempts, url), undefined, { signal })
      } finally {
        timeout.end()
      }
    }
  }

  /** Returns how long to wait before the next attempt. Throws if no further attempt should be made. */
  #pauseAfter(error: unknown, attempts: number, maxAttempts: number, url: string): number {
    if (error instanceof HostUnavailable) {
      const waitMs = error.dueAt - this.#options.now()
      const isRateLimited = error.reason === 'rate_limited'
      // The host has not processed the request, so even a POST may be sent again.
      if (!isRateLimited || waitMs > this.#options.maxWaitMs || attempts === MAX_ATTEMPTS)
        throw error
      return Math.max(0, waitMs)
    }
    if (error instanceof HostRequestFailed && !(error instanceof HostServerError)) throw error
    if (attempts < maxAttempts) return this.#options.pauseMs * 2 ** (attempts - 1)
    const message = explainTransientFailure(error, withoutQuery(url))
    if (message === undefined) throw error
    const dueAt = this.#options.now() + RETRY_AFTER_MS
    throw new HostUnavailable(dueAt, 'unreachable', message, { cause: error })
  }

  /** Sends the token only to the host's origin. A request without headers goes to object storage, which may have the same origin. */
  async #send(url: string, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const isHost = request.headers !== undefined && new URL(url).origin === this.#origin
    await this.#options.budget?.take()
    const headers = isHost ? { ...this.#headers, ...request.headers } : request.headers
    const sent = sendRequest(url, { ...request, headers }, signal)
    const response = await sent.catch((error: unknown) => {
      if (!isTlsError(error)) throw error
      throw new HostRequestFailed(0, explainConnectionError(withoutQuery(url), error))
    })
    const date = isHost ? Date.parse(response.header('date') ?? '') : Number.NaN
    if (!Number.isNaN(date)) this.#clockAheadMs = date - this.#options.now()
    return response
  }

  async #rejectFailure(response: HttpResponse, url: string, method = 'GET'): Promise<void> {
    const { status } = response
    if (status >= 200 && status <= 299) return
    const isRead = method === 'GET'
    const reason = isRead && status !== 404 ? undefined : await readApiError(response)
    response.discard()
    // GitHub sends when the limit is reset, in seconds since 1970, instead of Retry-After.
    const isSpent = response.header('x-ratelimit-remaining') === '0' && status !== 404
    const resetAt = new Date(Number(response.header('x-ratelimit-reset')) * 1000)
    const retryAfter = response.header('retry-after') ?? (isSpent ? `${resetAt}` : undefined)
    let error = this.#errorOf(status, retryAfter, url, reason !== undefined)
    if (!isRead && status >= 400 && status <= 499 && status !== 401 && status !== 429) {
      const why = reason ? `: ${oneLine(reason).slice(0, MAX_REASON_LENGTH)}` : ''
      const message = `${method} ${withoutQuery(url)} was refused with status ${status}${why}`
      error = new HostRequestFailed(status, message)
    }
    if (error instanceof HostUnavailable) await this.#options.budget?.holdUntil(error.dueAt)
    throw error
  }

  #errorOf(
    status: number,
    retryAfter: string | undefined,
    requested: string,
    isFromApi: boolean,
  ): Error {
    const [now, url] = [this.#options.now(), withoutQuery(requested)]
    const dueAt = retryTime(retryAfter, now)
    if (status === 429 || (dueAt !== undefined && (status === 403 || status === 503))) {
      const message = `${this.url} asks to wait (status ${status})`
      return new HostUnavailable(dueAt ?? now + RETRY_AFTER_MS, 'rate_limited', message)
    }
    if (status === 502 || status === 503 || status === 504)
      return new TransientFailure(`${url} is unavailable (status ${status})`)
    if (status === 404 || status === 410) {
      const retryAt = now + RETRY_AFTER_MS
      return new HostNotFound(status, `${url} was not found`, { isFromApi, retryAt })
    }
    if (status >= 500) return new HostServerError(status, `${url} failed with status ${status}`)
    if (status === 401)
      return new HostRequestFailed(status, `${this.url} does not accept the token`)
    if (status === 403) return new HostRequestFailed(status, `the token may not read ${url}`)
    return new HostRequestFailed(status, `${url} responded with status ${status}`)
  }

  #rejectRedirect(response: HttpResponse, url: string, advice: string): void {
    if (!isRedirect(response)) return
    response.discard()
    const target = redirectTarget(response, url)
    const shown = target?.origin === this.#origin ? withoutQuery(target.href) : target?.origin
    throw new HostRequestFailed(
      response.status,
      `${withoutQuery(url)} redirects to ${shown ?? 'elsewhere'}: the token is not sent there. ${advice}`,
    )
  }
}

const MAX_REASON_LENGTH = 200

const authorizationOf = ({ token, isPassword }: HttpOptions): string =>
  isPassword
    ? `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`
    : `token ${token}`

const URL_ADVICE = 'If that is the forge, set --forge to its URL'
const STORAGE_ADVICE = "If that is the forge's object storage, name it with --forge-storage-origins"

/** Messages show URLs without their query. */
const withoutQuery = (url: string) => url.split('?')[0] ?? url

const isRedirect = ({ status }: HttpResponse) => [301, 302, 303, 307, 308].includes(status)

function redirectTarget(response: HttpResponse, from: string): URL | undefined {
  const location = isRedirect(response) ? response.header('location') : undefined
  return location && URL.canParse(location, from) ? new URL(location, from) : undefined
}

/** Returns a message for a transient failure, and undefined for any other error. */
function explainTransientFailure(error: unknown, url: string): string | undefined {
  if (error instanceof HostRequestFailed || !(error instanceof Error)) return undefined
  if (error instanceof TransientFailure) return error.message
  if (error.name === 'TimeoutError') return `${url} ${error.message}`
  return codeOf(error) === undefined ? undefined : explainConnectionError(url, error)
}

/** Parses Retry-After, in seconds or as a date, to epoch milliseconds. Returns undefined if it is missing or invalid. */
function retryTime(retryAfter: string | undefined, now: number): number | undefined {
  const text = retryAfter?.trim()
  if (!text) return undefined
  const time = /^\d+$/.test(text) ? now + Number(text) * 1000 : Date.parse(text)
  if (Number.isNaN(time)) return undefined
  return Math.min(Math.max(time, now), now + MAX_RETRY_AFTER_MS)
}
