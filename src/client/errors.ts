/** The server answered, and the answer is no. */
export class ServerRefused extends Error {
  override name = 'ServerRefused'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** Whatever answers there says what no server of this API would. */
export const notThisApi = (url: string) =>
  new ServerRefused(200, `${url} is not a server of this API: check --url`)

/** No answer, or none that helps: another time it may be otherwise. */
export class ServerUnreachable extends Error {
  override name = 'ServerUnreachable'
  /** Whether what was asked may have arrived, and only the answer got lost. */
  readonly mayHaveArrived: boolean

  constructor(url: string, cause: unknown) {
    const inner = innermost(cause)
    const known = whyUnreachable(url, inner.code)
    super(known ?? `the connection to ${url} broke: ${inner.message || inner.code}`, { cause })
    this.mayHaveArrived = known === undefined
  }
}

/** The server is there and could not do it. */
export class ServerFailed extends Error {
  override name = 'ServerFailed'
}

/** The same error where trying again may help; undefined where it will not. */
export function asTemporaryError(error: unknown, url: string): Error | undefined {
  if (error instanceof ServerUnreachable || error instanceof ServerFailed) return error
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
  if (/CERT|SELF_SIGNED|ERR_TLS|SSL/.test(code))
    return `the certificate of ${url} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return undefined
}

/** What fetch throws says nothing; what caused it does. */
function innermost(error: unknown): { code: string; message: string } {
  let inner = error
  while (inner instanceof Error && (inner.cause || inner instanceof AggregateError))
    inner = inner instanceof AggregateError ? inner.errors[0] : inner.cause
  const { code, message } = (inner ?? {}) as { code?: unknown; message?: unknown }
  return { code: typeof code === 'string' ? code : '', message: String(message ?? inner) }
}
