import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { codeOf } from '../lib/errno.ts'
import { http, https } from '../lib/node-http.ts'
import type { IsAddressAllowed } from './allowed-addresses.ts'
import type { ReceivedResponse } from './delivery-store.ts'

export type WebhookRequest = { url: string; headers: Record<string, string>; body: string }

export interface SendParts {
  isAllowed: IsAddressAllowed
  resolve: Resolve
  /** Trusted certificates, if not those of the machine. */
  ca?: string
  /** For the whole request. */
  timeoutMs?: number
  /** For the name lookup and the connection. */
  connectTimeoutMs?: number
}

/** The result of one attempt. */
export type DeliveryOutcome = Awaited<ReturnType<typeof sendRequest>>

const TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000
const MAX_HEADER_BYTES = 16 * 1024
/** A larger response is a failure. */
const MAX_BODY_BYTES = 256 * 1024
const STORED_BODY_BYTES = 4096
const MAX_STORED_HEADERS = 50
const MAX_STORED_HEADER_LENGTH = 500

/**
 * Sends a request once and returns the result; throws only if `signal` aborted it. `status` is `OK`, or the failure as shown to the owner
 * of the webhook; `statusCode` is 0 if there was no complete response. The name is looked up once, and the connection uses only addresses
 * of that lookup that are allowed. Follows no redirect and uses no proxy.
 */
export async function sendRequest(request: WebhookRequest, parts: SendParts, signal: AbortSignal) {
  const startedAt = performance.now()
  const progress: Progress = { phase: 'looking up the name', statusCode: 0, response: null }
  const failure = await exchange(request, parts, progress, signal).catch((error: unknown) => error)
  signal.throwIfAborted()
  const durationMs = Math.round(performance.now() - startedAt)
  const { statusCode, response, phase } = progress
  if (failure !== undefined) {
    const status = explainFailure(failure, phase)
    return { isDelivered: false, status, statusCode: 0, durationMs, response }
  }
  const isDelivered = statusCode >= 200 && statusCode < 300
  const status = isDelivered ? 'OK' : describeStatus(statusCode)
  return { isDelivered, status, statusCode, durationMs, response }
}

function describeStatus(statusCode: number): string {
  const text = `${statusCode} ${http.STATUS_CODES[statusCode] ?? ''}`.trim()
  const isRedirect = statusCode >= 300 && statusCode < 400
  return isRedirect ? `${text}: redirects are not followed` : text
}

/** How far a request and its response got. */
type Progress = { phase: string; statusCode: number; response: ReceivedResponse | null }

async function exchange(
  request: WebhookRequest,
  parts: SendParts,
  progress: Progress,
  callerSignal: AbortSignal,
): Promise<void> {
  const { timeoutMs = TIMEOUT_MS, connectTimeoutMs = CONNECT_TIMEOUT_MS } = parts
  const stop = new AbortController()
  const signal = AbortSignal.any([callerSignal, stop.signal])
  const timeOut = () => stop.abort(new SendFailure(`timed out while ${progress.phase}`))
  const over = setTimeout(timeOut, timeoutMs)
  const connecting = setTimeout(timeOut, connectTimeoutMs)
  try {
    const url = new URL(request.url)
    const addresses = await allowedAddresses(url, parts, signal)
    const module = url.protocol === 'https:' ? https : http
    const sent = module.request(url, {
      method: 'POST',
      headers: request.headers,
      // A new agent keeps no connection and uses no proxy of the environment.
      agent: new module.Agent({ keepAlive: false }),
      lookup: fixedLookup(addresses),
      rejectUnauthorized: true,
      ...(parts.ca !== undefined && { ca: parts.ca }),
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    })
    const received = receive(sent, progress, () => clearTimeout(connecting))
    sent.end(request.body)
    await received
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error
  } finally {
    clearTimeout(over)
    clearTimeout(connecting)
    stop.abort()
  }
}

/** Returns the addresses of the host to which requests may be sent. */
async function allowedAddresses(url: URL, parts: SendParts, signal: AbortSignal) {
  const found = await parts.resolve(url.hostname.replace(/^\[|\]$/g, ''), signal)
  signal.throwIfAborted()
  const allowed = found.filter(({ address }) => parts.isAllowed(address))
  if (allowed.length > 0) return allowed
  throw new SendFailure('not sent: the address is on a network that is not allowed')
}

function receive(sent: ClientRequest, progress: Progress, onConnected: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onReady = () => {
    progress.phase = 'waiting for the response'
    onConnected()
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
  sent.on('response', (response) => {
    readBody(response, begin(response, progress)).then(resolve, reject)
  })
  sent.on('upgrade', (response, socket) => {
    begin(response, progress)
    socket.destroy()
    resolve()
  })
  sent.on('close', () => {
    if (progress.statusCode === 0)
      reject(new SendFailure('the connection was closed before the response'))
  })
  return promise
}

function begin({ statusCode, headers }: IncomingMessage, progress: Progress): ReceivedResponse {
  progress.phase = 'reading the response'
  progress.statusCode = statusCode ?? 0
  progress.response = { headers: storedHeaders(headers), body: '' }
  return progress.response
}

async function readBody(message: IncomingMessage, received: ReceivedResponse): Promise<void> {
  let [bytes, stored] = [0, Buffer.alloc(0)]
  // Leaving the loop early destroys the connection.
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length
    stored = Buffer.concat([stored, chunk.subarray(0, STORED_BODY_BYTES - stored.length)])
    received.body = stored.toString('utf8')
    if (bytes > MAX_BODY_BYTES)
      throw new SendFailure(`the response is larger than ${MAX_BODY_BYTES / 1024} kB`)
  }
}

/** A lookup that returns only addresses that were checked. */
export const fixedLookup =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first!.address, first!.family)
  }

function storedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const stored = Object.entries(headers).slice(0, MAX_STORED_HEADERS)
  return Object.fromEntries(
    stored.map(([name, value]) => [name, String(value).slice(0, MAX_STORED_HEADER_LENGTH)]),
  )
}

/** A failure with a message for the owner of the webhook. */
class SendFailure extends Error {
  override name = 'SendFailure'
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

/** Messages contain no addresses: users must not learn to which internal address a name resolves. */
function explainFailure(error: unknown, phase: string): string {
  if (error instanceof SendFailure) return error.message
  const code = codeOf(error) ?? ''
  const message = MESSAGES[code]
  if (message !== undefined) return message
  if (code.startsWith('HPE_')) return 'the response is not HTTP'
  if (/^(ERR_SSL_|ERR_TLS_|CERT_|EPROTO$)/.test(code)) return 'TLS: no agreement with the server'
  return `failed while ${phase}${code === '' ? '' : ` (${code})`}`
}

export type Address = { address: string; family: 4 | 6 }

/** Returns all addresses of a host. Throws if there are none. */
type Resolve = (host: string, signal: AbortSignal) => Promise<Address[]>

const DNS_TIMEOUT_MS = 4000

/**
 * Queries name servers directly. getaddrinfo would block one of the few threads that also read and write files: a name server that does
 * not respond would delay exports. Names in /etc/hosts are used as well.
 */
export function createResolver({ servers }: { servers?: string[] } = {}): Resolve {
  return async (host, signal) => {
    if (isIP(host)) return [addressOf(host)]
    const listed = await inHostsFile(host)
    if (listed.length > 0) return listed
    const dns = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 1 })
    if (servers) dns.setServers(servers)
    const stop = () => dns.cancel()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const lookups = await Promise.allSettled([dns.resolve4(host), dns.resolve6(host)])
      signal.throwIfAborted()
      const found = lookups.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      const [first] = lookups
      if (found.length === 0) throw first.status === 'rejected' ? first.reason : noSuchName()
      return found.map(addressOf)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

const noSuchName = () => Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })

const addressOf = (address: string): Address => ({ address, family: isIP(address) === 6 ? 6 : 4 })

async function inHostsFile(host: string): Promise<Address[]> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '')
  const name = host.toLowerCase().replace(/\.$/, '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return isIP(address) && names.includes(name) ? [addressOf(address)] : []
  })
}
