import { isCertificateCode, isTlsCode, rootCause } from '../lib/errno.ts'

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
