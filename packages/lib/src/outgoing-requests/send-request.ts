import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { codeOf } from '../errno.ts'
import { http, https } from '../node-http.ts'
import type { IsAddressAllowed } from './address-filter.ts'
import type { Address, Resolve } from './resolve-host.ts'

export interface OutgoingRequest {
  url: string | URL
  method: string
  headers: Record<string, string>
  body?: string | undefined
}

export interface RequestRules {
  /** Looks up the host once, and connects only to addresses that are allowed. Without it, every address is allowed. */
  addresses?: { isAllowed: IsAddressAllowed; resolve: Resolve } | undefined
  /** Trusted certificates, if not those of the machine. */
  ca?: string | undefined
  /** Verifies certificates even with NODE_TLS_REJECT_UNAUTHORIZED=0. */
  alwaysVerifies?: true
  /** For the whole request, until `read` has ended. */
  timeoutMs?: number | undefined
  /** For the name lookup and the connection. */
  connectTimeoutMs?: number | undefined
  maxBodyBytes: number
  signal: AbortSignal
}

export interface IncomingResponse {
  statusCode: number
  headers: IncomingHttpHeaders
  /** Throws OutgoingRequestFailed if the body is larger than allowed. */
  body: AsyncIterable<Buffer>
}

/**
 * A request had no complete response. The message contains no addresses: users must not learn to which internal address a name resolves.
 * The cause is the error of Node, if there is one, whose message may contain them.
 */
export class OutgoingRequestFailed extends Error {
  override name = 'OutgoingRequestFailed'
  readonly isAddressRefused: boolean

  constructor(message: string, options: { cause?: unknown; isAddressRefused?: boolean } = {}) {
    super(message, options)
    this.isAddressRefused = options.isAddressRefused ?? false
  }
}

const MAX_HEADER_BYTES = 16 * 1024

/**
 * Sends a request, and returns what `read` returns for the response. Follows no redirect, uses no proxy and keeps no connection. Throws
 * the reason of `signal` if that aborted it, and OutgoingRequestFailed if there was no complete response.
 */
export async function sendRequest<T>(
  request: OutgoingRequest,
  rules: RequestRules,
  read: (response: IncomingResponse) => Promise<T>,
): Promise<T> {
  const { timeoutMs, connectTimeoutMs, signal: callerSignal } = rules
  const stop = new AbortController()
  const signal = AbortSignal.any([callerSignal, stop.signal])
  const progress = { phase: 'looking up the name' }
  const timeOut = () => stop.abort(new OutgoingRequestFailed(`timed out while ${progress.phase}`))
  const startTimer = (ms?: number) => (ms === undefined ? undefined : setTimeout(timeOut, ms))
  const over = startTimer(timeoutMs)
  const connecting = startTimer(connectTimeoutMs)
  try {
    const url = new URL(request.url)
    const lookup = rules.addresses && fixedLookup(await allowedAddresses(url, rules, signal))
    const module = url.protocol === 'https:' ? https : http
    const sent = module.request(url, {
      method: request.method,
      headers: request.headers,
      // A new agent keeps no connection and uses no proxy of the environment.
      agent: new module.Agent({ keepAlive: false }),
      ...(lookup && { lookup }),
      ...(rules.alwaysVerifies && { rejectUnauthorized: true }),
      ...(rules.ca !== undefined && { ca: rules.ca }),
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    })
    const received = receive(sent, progress, () => clearTimeout(connecting))
    sent.end(request.body)
    const { message, body } = await received
    const { statusCode = 0, headers } = message
    return await read({ statusCode, headers, body: limitSize(body, rules.maxBodyBytes) })
  } catch (error) {
    callerSignal.throwIfAborted()
    if (stop.signal.aborted) throw stop.signal.reason
    throw error instanceof OutgoingRequestFailed
      ? error
      : new OutgoingRequestFailed(explain(error, progress.phase), { cause: error })
  } finally {
    clearTimeout(over)
    clearTimeout(connecting)
    stop.abort()
  }
}

/** Returns the addresses of the host to which requests may be sent. */
async function allowedAddresses(url: URL, { addresses }: RequestRules, signal: AbortSignal) {
  const { resolve, isAllowed } = addresses!
  const found = await resolve(url.hostname.replace(/^\[|\]$/g, ''), signal)
  signal.throwIfAborted()
  const allowed = found.filter(({ address }) => isAllowed(address))
  if (allowed.length > 0) return allowed
  throw new OutgoingRequestFailed('not sent: the address is on a network that is not allowed', {
    isAddressRefused: true,
  })
}

/** A lookup that returns only addresses that were checked. */
const fixedLookup =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first!.address, first!.family)
  }

type Received = { message: IncomingMessage; body: AsyncIterable<Buffer> | Iterable<Buffer> }

/** Resolves when the headers of the response have arrived. */
function receive(sent: ClientRequest, progress: { phase: string }, onConnected: () => void) {
  const { promise, resolve, reject } = Promise.withResolvers<Received>()
  const onReady = () => {
    progress.phase = 'waiting for the response'
    onConnected()
  }
  const onResponse = (received: Received) => {
    progress.phase = 'reading the response'
    resolve(received)
  }
  progress.phase = 'connecting'
  sent.on('socket', (socket) => {
    socket.once('connect', () => {
      if (sent.protocol === 'https:') progress.phase = 'agreeing on TLS'
      else onReady()
    })
    socket.once('secureConnect', onReady)
  })
  sent.on('error', reject)
  sent.on('response', (message) => onResponse({ message, body: message }))
  sent.on('upgrade', (message, socket) => {
    socket.destroy()
    onResponse({ message, body: [] })
  })
  sent.on('close', () =>
    reject(new OutgoingRequestFailed('the connection was closed before the response')),
  )
  return promise
}

async function* limitSize(body: Received['body'], maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0
  // Leaving the loop early destroys the connection.
  for await (const chunk of body) {
    bytes += chunk.length
    yield chunk
    if (bytes > maxBytes)
      throw new OutgoingRequestFailed(`the response is larger than ${maxBytes / 1024} kB`)
  }
}

const MESSAGES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed before the response',
  EPIPE: 'the connection was closed before the response',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  EHOSTDOWN: 'no route to the host',
  EADDRNOTAVAIL: 'no route to the host',
  ETIMEDOUT: 'timed out while connecting',
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  EBADNAME: 'the name is not valid',
  ESERVFAIL: 'the name server failed',
  EREFUSED: 'the name server refused the query',
  ETIMEOUT: 'timed out while looking up the name',
  ECANCELLED: 'timed out while looking up the name',
  HPE_HEADER_OVERFLOW: 'the headers of the response are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate is from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the certificate is from an unknown authority',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: the certificate is not valid yet',
}

function explain(error: unknown, phase: string): string {
  const code = codeOf(error) ?? ''
  const message = MESSAGES[code]
  if (message !== undefined) return message
  if (code.startsWith('HPE_')) return 'the response is not HTTP'
  if (/^(ERR_SSL_|ERR_TLS_|CERT_|EPROTO$)/.test(code)) return 'TLS: no agreement with the server'
  return `failed while ${phase}${code === '' ? '' : ` (${code})`}`
}
