import { isCertificateCode, isTlsCode, rootCause } from '@godwit/lib/errno'
import type { ValidationError } from '../schemas/types.ts'

export class RequestRejected extends Error {
  override name = 'RequestRejected'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** The response has a shape that no server of this API sends. */
export const notThisApi = (url: string) =>
  new RequestRejected(200, `${url} is not a server of this API: check --url`)

/** What to check if the link to an archive leads nowhere. */
export const WRONG_LINK =
  "the server's --base-url or the address of its bucket may be wrong; tell its operator"

/** A retry may succeed. */
export class TemporaryError extends Error {
  override name = 'TemporaryError'
  /** Whether the server may have carried out the request, so that only the response is lost. */
  readonly mayHaveArrived: boolean = false
}

/** There was no connection, or it broke. */
export class ServerUnreachable extends TemporaryError {
  override name = 'ServerUnreachable'
  override readonly mayHaveArrived: boolean

  /** `sentBy` is the server that sent the client to this URL, if it is not the server's own. */
  constructor(url: string, cause: unknown, sentBy?: string) {
    const inner = rootCause(cause)
    const notConnected = whyNotConnected(url, inner)
    const broken = `the connection to ${url} broke: ${inner.message || inner.code}`
    const wrongLink = `${sentBy} sent a download link to ${url}, which cannot be reached (${inner.code}): ${WRONG_LINK}`
    super((notConnected && sentBy && wrongLink) || notConnected || broken, { cause })
    this.mayHaveArrived = notConnected === undefined
  }
}

/** The server failed (5xx). */
export class ServerError extends TemporaryError {
  override name = 'ServerError'
  /** True for 502 and 504: a proxy passed the request on and got no response. */
  override readonly mayHaveArrived: boolean

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.mayHaveArrived = status === 502 || status === 504
  }
}

/** The server asks the client to retry later: a rate limit is exceeded, or it is temporarily unavailable. */
export class ServerBusy extends TemporaryError {
  override name = 'ServerBusy'
  readonly status: number
  readonly seconds: number

  constructor(status: number, seconds: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
    this.seconds = seconds
  }
}

const MAX_RETRY_AFTER_S = 60 * 60

/** Returns the pause before a retry: `ms`, or longer if the server asked for more, up to an hour. */
export const retryPause = (error: Error, ms: number): number =>
  error instanceof ServerBusy ? Math.max(ms, Math.min(error.seconds, MAX_RETRY_AFTER_S) * 1000) : ms

/** Returns an error that a retry may resolve, or undefined if the error is permanent. */
export function asTemporaryError(error: unknown, url: string): TemporaryError | undefined {
  if (error instanceof TemporaryError) return error
  // fetch reports a body that breaks off as a TypeError caused by the socket's error, and a timeout of ours as an AbortError.
  const isCutOff = error instanceof TypeError && error.cause instanceof Error
  const isTimeout = error instanceof Error && error.name === 'AbortError'
  return isCutOff || isTimeout ? new ServerUnreachable(url, error) : undefined
}

/** Returns undefined if a connection was made. */
function whyNotConnected(url: string, cause: ReturnType<typeof rootCause>): string | undefined {
  const { code } = cause
  if (code === 'ECONNREFUSED')
    return `no server at ${url}: check that it is running, and check --url`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const { hostname } = new URL(url)
    const { hostname: missing = hostname } = cause
    // A redirect or a proxy leads to another host.
    const via = missing === hostname ? '' : `, where a request to ${url} leads`
    return `no such host: ${missing}${via}: check --url and the network`
  }
  if (isTlsCode(code)) return `no TLS connection to ${url} (${code}): check http or https in --url`
  if (isCertificateCode(code))
    return `the certificate of ${url} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return undefined
}

/** Returns how long a response asks to wait, or undefined if it does not. `defaultSeconds` is for a 429 or 503 without a time. */
export function secondsToWait(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  defaultSeconds: number | undefined,
): number | undefined {
  const seconds = retryAfter(headers)
  if (status === 429 || status === 503) return seconds ?? defaultSeconds
  return status === 403 ? seconds : undefined
}

/** Returns the seconds of `retry-after`, or those until an exhausted rate limit is reset. */
export function retryAfter(headers: Headers, now = Date.now()): number | undefined {
  const header = headers.get('retry-after')
  if (header !== null && /^\d+$/.test(header)) return Number(header)
  const date = Date.parse(header ?? '')
  if (!Number.isNaN(date)) return secondsBetween(now, date)
  // GitLab sends these headers without `x-`. Some proxies send the seconds until the reset instead of its time.
  const limit = (name: string) =>
    headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`)
  const reset = Number(limit('reset') ?? Number.NaN)
  if (limit('remaining') !== '0' || Number.isNaN(reset)) return undefined
  return reset < 1e9 ? reset : secondsBetween(now, reset * 1000)
}

const secondsBetween = (now: number, then: number) => Math.max(0, Math.ceil((then - now) / 1000))

/** The request that failed, for the error message. */
export interface FailedRequest {
  url: string
  /** The message for status 404: what is missing, and what to do about it. */
  missing: string
  /** The `repositories` that were sent: validation errors refer to them by index. */
  repositories?: readonly string[]
}

/** The error that Octokit throws for a response with an error status. */
interface ResponseError {
  status: number
  response: { data: unknown; headers: Record<string, string> }
}

/** The pause after a 429 that does not say how long to wait. */
const DEFAULT_RETRY_AFTER_S = 60

/** Converts an error of Octokit to an error of this client with a message for people. Returns any other error unchanged. */
export function explainError(error: unknown, request: FailedRequest): unknown {
  const cause = error instanceof Error && error.cause
  if (cause instanceof ServerUnreachable || cause instanceof RequestRejected) return cause
  if (!isResponseError(error)) return error
  const { status, response } = error
  const options = { cause: error }
  const isServerError = status >= 500
  const headers = new Headers(response.headers)
  const defaultSeconds = isServerError ? undefined : DEFAULT_RETRY_AFTER_S
  const seconds = secondsToWait({ status, headers }, defaultSeconds)
  if (seconds !== undefined) {
    const message = isServerError
      ? describeServerError(request, error)
      : `${request.url} limits the rate of requests: ${messageIn(response.data)}. Try again in ${formatSeconds(seconds)}`
    return new ServerBusy(status, seconds, message, options)
  }
  if (isServerError) return new ServerError(status, describeServerError(request, error), options)
  return new RequestRejected(status, describeRejection(request, status, response.data), options)
}

/** Returns undefined if the response does not ask to retry later. For responses that Octokit does not read. */
export function busyErrorOf(response: Response, server: string): ServerBusy | undefined {
  const { status } = response
  const seconds = secondsToWait(response, undefined)
  if (seconds === undefined) return undefined
  const message = `${server} responded ${status} and asks the client to wait ${formatSeconds(seconds)}`
  return new ServerBusy(status, seconds, message)
}

const isResponseError = (error: unknown): error is ResponseError =>
  error instanceof Error && 'status' in error && 'response' in error && Boolean(error.response)

function describeServerError(
  { url }: FailedRequest,
  { status, response: { data, headers } }: ResponseError,
): string {
  const id = Object.entries(headers).find(([name]) => /^x-.*request-id$/.test(name))?.[1]
  const requestId = id ? `; request ID ${id}` : ''
  return `the server at ${url} failed: ${status} ${messageIn(data)}${requestId}. Try again later`
}

function describeRejection(request: FailedRequest, status: number, data: unknown): string {
  const { url, missing } = request
  const message = messageIn(data)
  if (status === 401)
    return `${url} does not accept the token (${message}): log in again with \`godwit auth login\`, or give a valid one with --token-file or GODWIT_TOKEN`
  if (status === 404) return missing
  if (status === 415) return `${url} does not accept the media type (${message}): check --vendor`
  if (status === 422)
    return `${url} rejected the request: ${message}${validationErrors(data, request.repositories ?? [])}`
  return `${url} rejected the request (${status}): ${message}`
}

/** The body may be an HTML page of a proxy instead of the API's JSON. */
function messageIn(data: unknown): string {
  const message = (data as { message?: unknown } | null)?.message
  if (typeof message !== 'string') return 'no error message'
  return message.replace(/\s+/g, ' ').replace(/\.$/, '')
}

/** Servers other than Godwit have further codes. */
type FieldError = Partial<Omit<ValidationError['errors'][number], 'code'>> & { code?: string }

function validationErrors(data: unknown, repositories: readonly string[]): string {
  const errors = (data as { errors?: unknown } | null)?.errors
  if (!Array.isArray(errors)) return ''
  return errors
    .map((error: unknown) => {
      if (typeof error === 'string') return `\n  ${error.replace(/\s+/g, ' ')}`
      const { field, code, index, message } = asFieldError(error)
      const repository = field === 'repositories' && index !== undefined && repositories[index]
      const subject = repository || [field, index].filter((each) => each !== undefined).join(' ')
      const problem = message ?? describeCode(code, Boolean(repository))
      return `\n  ${[subject, problem].filter(Boolean).join(': ')}`
    })
    .join('')
}

/** Omits fields of unexpected types. */
function asFieldError(error: unknown): FieldError {
  const fields = Object.entries(typeof error === 'object' && error !== null ? error : {})
  const valid = fields.filter(
    ([name, value]) => typeof value === (name === 'index' ? 'number' : 'string'),
  )
  return Object.fromEntries(valid)
}

function describeCode(code: string | undefined, isRepository: boolean): string {
  if (isRepository && (code === 'invalid' || code === 'missing'))
    return 'this account may not migrate this repository, or it does not exist'
  return (code ?? '').replaceAll('_', ' ')
}

const formatSeconds = (seconds: number) =>
  seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
