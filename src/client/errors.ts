import { isCertificateCode, isTlsCode, rootCause } from '../lib/errno.ts'

/** The server answered, and the answer is no. */
export class RequestRejected extends Error {
  override name = 'RequestRejected'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** The server would remove a secret that is not given again. */
export class SecretNeeded extends Error {
  override name = 'SecretNeeded'
}

/** Whatever answers there says what no server of this API would. */
export const notThisApi = (url: string) =>
  new RequestRejected(200, `${url} is not a server of this API: check --url`)

/** No answer, or none that helps: another time it may be otherwise. */
export class ServerUnreachable extends Error {
  override name = 'ServerUnreachable'
  /** Whether what was asked may have arrived, and only the answer got lost. */
  readonly mayHaveArrived: boolean

  constructor(url: string, cause: unknown) {
    const inner = rootCause(cause)
    const known = whyUnreachable(url, inner.code)
    super(known ?? `the connection to ${url} broke: ${inner.message || inner.code}`, { cause })
    this.mayHaveArrived = known === undefined
  }
}

/** The server is there and could not do it. */
export class ServerError extends Error {
  override name = 'ServerError'
  /** A proxy that waited for the answer in vain has handed on what was asked. */
  readonly mayHaveArrived: boolean

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.mayHaveArrived = status === 502 || status === 504
  }
}

/** The server asks to come back later: it counts requests, or is away for a while. */
export class ServerBusy extends Error {
  override name = 'ServerBusy'
  readonly status: number
  readonly seconds: number

  constructor(status: number, seconds: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
    this.seconds = seconds
  }
}

/** Whether what was asked for may have been done all the same. */
export const mayHaveArrived = (error: unknown): boolean =>
  (error instanceof ServerUnreachable || error instanceof ServerError) && error.mayHaveArrived

const LONGEST_BUSY_S = 60 * 60

/** How long to wait before trying again what `asTemporaryError` took for temporary; a server may ask for more than `ms`. */
export const retryPause = (error: Error, ms: number): number =>
  error instanceof ServerBusy ? Math.max(ms, Math.min(error.seconds, LONGEST_BUSY_S) * 1000) : ms

/** The same error where trying again may help; undefined where it will not. */
export function asTemporaryError(error: unknown, url: string): Error | undefined {
  if ([ServerUnreachable, ServerError, ServerBusy].some((each) => error instanceof each))
    return error as Error
  // A body that breaks off is a TypeError with the socket's error in it; one that we gave up on, an AbortError.
  const isCutOff = error instanceof TypeError && error.cause instanceof Error
  const isGivenUp = error instanceof Error && error.name === 'AbortError'
  return isCutOff || isGivenUp ? new ServerUnreachable(url, error) : undefined
}

/** Undefined where a connection was made. */
function whyUnreachable(url: string, code: string): string | undefined {
  const { hostname } = new URL(url)
  if (code === 'ECONNREFUSED')
    return `no server at ${url}: check that it is running, and check --url`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `no such host: ${hostname}: check --url and the network`
  if (isTlsCode(code)) return `no TLS connection to ${url} (${code}): check http or https in --url`
  if (isCertificateCode(code))
    return `the certificate of ${url} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return undefined
}
