import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { codeOf } from '../lib/errno.ts'
import { http, https } from '../lib/node-http.ts'
import type { IsAllowed } from './allowed-addresses.ts'
import type { ReceivedResponse } from './delivery-store.ts'

export interface WebhookRequest {
  url: string
  headers: Record<string, string>
  body: string
}

export interface SendParts {
  isAllowed: IsAllowed
  resolve: Resolve
  /** Certificates that are trusted, where they are not those of the machine. */
  ca?: string
  /** Of all of it; of finding and reaching the receiver. */
  timeoutMs?: number
  connectTimeoutMs?: number
}

/** How one try went. */
export interface DeliveryOutcome {
  isDelivered: boolean
  /** In words, for whoever owns the webhook. */
  status: string
  /** Of the answer; 0 where none came, or not all of it. */
  statusCode: number
  durationMs: number
  response: ReceivedResponse | null
}

const TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000
const MAX_HEADER_BYTES = 16 * 1024
/** Of the answer's body: more than this is no answer to a webhook. */
const MAX_BODY_BYTES = 256 * 1024
const KEPT_BODY_BYTES = 4096
const KEPT_HEADERS = 50
const KEPT_HEADER_LENGTH = 500

/**
 * Sends it once, and says how that went; throws only where `signal` stopped it. The name is looked up once, and the connection
 * goes to an address of that answer which was found to be allowed. No redirect is followed and no proxy is asked.
 */
export async function sendRequest(
  request: WebhookRequest,
  parts: SendParts,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const startedAt = performance.now()
  const exchange = new Exchange(request, parts, signal)
  const failure = await exchange.run().catch((error: unknown) => error)
  signal.throwIfAborted()
  const durationMs = Math.round(performance.now() - startedAt)
  const { statusCode, response } = exchange
  if (failure !== undefined) {
    const status = explainFailure(failure, exchange.phase)
    return { isDelivered: false, status, statusCode: 0, durationMs, response }
  }
  const isDelivered = statusCode >= 200 && statusCode < 300
  const status = isDelivered ? 'OK' : refusalOf(statusCode)
  return { isDelivered, status, statusCode, durationMs, response }
}

function refusalOf(statusCode: number): string {
  const words = `${statusCode} ${http.STATUS_CODES[statusCode] ?? ''}`.trim()
  const isRedirect = statusCode >= 300 && statusCode < 400
  return isRedirect ? `${words}: redirects are not followed` : words
}

/** One request and its answer, as far as they came. */
class Exchange {
  phase = 'looking up the name'
  statusCode = 0
  readonly #url: URL
  readonly #request: WebhookRequest
  readonly #parts: SendParts
  readonly #signal: AbortSignal
  readonly #stop = new AbortController()
  #headers: Record<string, string> | null = null
  #body = Buffer.alloc(0)

  constructor(request: WebhookRequest, parts: SendParts, signal: AbortSignal) {
    this.#url = new URL(request.url)
    this.#request = request
    this.#parts = parts
    this.#signal = AbortSignal.any([signal, this.#stop.signal])
  }

  get response(): ReceivedResponse | null {
    return this.#headers && { headers: this.#headers, body: this.#body.toString('utf8') }
  }

  async run(): Promise<void> {
    const { timeoutMs = TIMEOUT_MS, connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#parts
    const over = setTimeout(() => this.#timeOut(), timeoutMs)
    const connecting = setTimeout(() => this.#timeOut(), connectTimeoutMs)
    try {
      const addresses = await this.#addresses()
      await this.#exchange(addresses, () => clearTimeout(connecting))
    } catch (error) {
      throw this.#stop.signal.aborted ? this.#stop.signal.reason : error
    } finally {
      clearTimeout(over)
      clearTimeout(connecting)
      this.#stop.abort()
    }
  }

  #timeOut(): void {
    this.#stop.abort(new SendFailure(`timed out while ${this.phase}`))
  }

  /** Those that are allowed, of all that the name has. */
  async #addresses(): Promise<Address[]> {
    const host = this.#url.hostname.replace(/^\[|\]$/g, '')
    const found = await this.#parts.resolve(host, this.#signal)
    this.#signal.throwIfAborted()
    const allowed = found.filter(({ address }) => this.#parts.isAllowed(address))
    if (allowed.length === 0)
      throw new SendFailure('not sent: the address is on a network that is not allowed')
    return allowed
  }

  #exchange(addresses: readonly Address[], onConnected: () => void): Promise<void> {
    const isTls = this.#url.protocol === 'https:'
    const module = isTls ? https : http
    const { ca } = this.#parts
    return new Promise((resolve, reject) => {
      const sent = module.request(this.#url, {
        method: 'POST',
        headers: this.#request.headers,
        // Of its own: no connection is kept, and no proxy of the environment is asked.
        agent: new module.Agent({ keepAlive: false }),
        lookup: onlyTo(addresses),
        rejectUnauthorized: true,
        ...(ca !== undefined && { ca }),
        maxHeaderSize: MAX_HEADER_BYTES,
        signal: this.#signal,
      })
      this.phase = 'connecting'
      sent.on('socket', (socket) => {
        const onReady = () => {
          this.phase = 'waiting for the answer'
          onConnected()
        }
        socket.once('connect', () => {
          if (isTls) this.phase = 'agreeing on TLS'
          else onReady()
        })
        socket.once('secureConnect', onReady)
      })
      sent.on('error', reject)
      sent.on('response', (answer) => {
        this.#read(answer).then(resolve, reject)
      })
      sent.on('upgrade', (answer, socket) => {
        this.#begin(answer)
        socket.destroy()
        resolve()
      })
      sent.on('close', () => {
        if (this.statusCode === 0)
          reject(new SendFailure('the connection was closed before the answer'))
      })
      sent.end(this.#request.body)
    })
  }

  #begin(answer: IncomingMessage): void {
    this.phase = 'reading the answer'
    this.statusCode = answer.statusCode ?? 0
    this.#headers = keptHeaders(answer.headers)
  }

  async #read(answer: IncomingMessage): Promise<void> {
    this.#begin(answer)
    let bytes = 0
    // Leaving the loop early destroys the connection.
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      const room = KEPT_BODY_BYTES - this.#body.length
      if (room > 0) this.#body = Buffer.concat([this.#body, chunk.subarray(0, room)])
      if (bytes > MAX_BODY_BYTES)
        throw new SendFailure(`the answer is larger than ${MAX_BODY_BYTES / 1024} kB`)
    }
  }
}

/** Whatever name the connection asks for, it gets what was checked. */
const onlyTo =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first!.address, first!.family)
  }

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).slice(0, KEPT_HEADERS)
  return Object.fromEntries(
    kept.map(([name, value]) => [name, String(value).slice(0, KEPT_HEADER_LENGTH)]),
  )
}

/** What went wrong, in words that are fit for the owner of a webhook. */
export class SendFailure extends Error {
  override name = 'SendFailure'
}

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed before the answer',
  EPIPE: 'the connection was closed before the answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  EHOSTDOWN: 'no route to the host',
  EADDRNOTAVAIL: 'no route to the host',
  ETIMEDOUT: 'timed out while connecting',
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address',
  EBADNAME: 'the name is not valid',
  ESERVFAIL: 'the name server failed',
  EREFUSED: 'the name server refused to answer',
  ETIMEOUT: 'timed out while looking up the name',
  ECANCELLED: 'timed out while looking up the name',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate is from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the certificate is from an unknown authority',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: the certificate is not valid yet',
}

/** Without addresses: what a name leads to inside a network is not the business of whoever asks. */
export function explainFailure(error: unknown, phase: string): string {
  if (error instanceof SendFailure) return error.message
  const code = codeOf(error) ?? ''
  const words = WORDS[code]
  if (words !== undefined) return words
  if (code.startsWith('HPE_')) return 'the answer is not HTTP'
  if (/^(ERR_SSL_|ERR_TLS_|CERT_|EPROTO$)/.test(code)) return 'TLS: no agreement with the server'
  return `failed while ${phase}${code === '' ? '' : ` (${code})`}`
}

export interface Address {
  address: string
  family: 4 | 6
}

/** All addresses of a host. Throws where there are none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<Address[]>

const DNS_TIMEOUT_MS = 4000

/**
 * Asks name servers by itself. The usual way (getaddrinfo) waits in one of the few threads that also read and write files: a
 * name that is never answered would be in the way of exports. Names in /etc/hosts count as they do everywhere.
 */
export function resolver({ servers }: { servers?: string[] } = {}): Resolve {
  return async (host, signal) => {
    if (isIP(host)) return [addressOf(host)]
    const known = await inHostsFile(host)
    if (known.length > 0) return known
    const asking = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 1 })
    if (servers) asking.setServers(servers)
    const stop = () => asking.cancel()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const answers = await Promise.allSettled([asking.resolve4(host), asking.resolve6(host)])
      signal.throwIfAborted()
      const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      const [first] = answers
      if (found.length === 0) throw first.status === 'rejected' ? first.reason : noSuchName()
      return found.map(addressOf)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

const noSuchName = () => Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })

const addressOf = (address: string): Address => ({
  address,
  family: isIP(address) === 6 ? 6 : 4,
})

async function inHostsFile(host: string): Promise<Address[]> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '')
  const name = host.toLowerCase().replace(/\.$/, '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return isIP(address) && names.includes(name) ? [addressOf(address)] : []
  })
}
