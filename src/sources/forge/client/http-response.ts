import type { IncomingMessage } from 'node:http'
import { isCertificateCode, isTlsCode, rootCause } from '../../../lib/errno.ts'
import { http, https } from '../../../lib/node-http.ts'
import { ForgeRequestFailed } from '../../forge-errors.ts'

/** A response whose body is still to be read or discarded. */
export interface HttpResponse {
  status: number
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined
  body: AsyncIterable<Uint8Array>
  discard(): void
}

/** Four issues are read at a time, by each of several jobs of one process. */
const KEEP_ALIVE = { keepAlive: true, maxSockets: 16 }
const agents = { 'http:': new http.Agent(KEEP_ALIVE), 'https:': new https.Agent(KEEP_ALIVE) }

/**
 * Sends a GET request and follows no redirect. This does not use `fetch`, because a large repository takes 100,000 requests, and
 * the objects that fetch allocates for each become most of the memory of the process.
 */
export function sendGet(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const isSecure = url.startsWith('https:')
  const { request } = isSecure ? https : http
  const agent = agents[isSecure ? 'https:' : 'http:']
  return new Promise((resolve, reject) => {
    request(new URL(url), { agent, headers, signal }, (message) => resolve(responseOf(message)))
      .on('error', reject)
      .end()
  })
}

/** The connection of a longer body is closed instead of reading the rest. */
const MAX_DRAINED_BYTES = 64 * 1024

const responseOf = (message: IncomingMessage): HttpResponse => ({
  status: message.statusCode ?? 0,
  header: (name) => {
    const value = message.headers[name]
    return Array.isArray(value) ? value.join(',') : value
  },
  body: message,
  discard() {
    const length = Number(message.headers['content-length'] ?? Number.NaN)
    // Reading a short body to its end lets the agent use the connection again.
    if (length <= MAX_DRAINED_BYTES) message.resume()
    else message.destroy()
  },
})

/** A complete response may take this many times the timeout of its first byte. */
const COMPLETE_FACTOR = 2

/**
 * Aborts a request if the response, or the next part of it, does not arrive in time, if the whole response takes too long, or if
 * the caller's signal aborts.
 */
export class ResponseTimeout {
  readonly #controller = new AbortController()
  readonly #timeoutMs: number
  readonly #startedAt = performance.now()
  readonly #callerSignal: AbortSignal
  #timer: NodeJS.Timeout

  constructor(timeoutMs: number, callerSignal: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.#callerSignal = callerSignal
    this.#timer = this.#startTimer()
    // AbortSignal.any would leak: the caller's signal lives for hours and keeps a reference for every request.
    callerSignal.addEventListener('abort', this.#abort, { once: true })
    if (callerSignal.aborted) this.#abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  renew = () => {
    clearTimeout(this.#timer)
    this.#timer = this.#startTimer()
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#callerSignal.removeEventListener('abort', this.#abort)
  }

  readonly #abort = () => this.#controller.abort(this.#callerSignal.reason)

  #startTimer(): NodeJS.Timeout {
    const completeMs = COMPLETE_FACTOR * this.#timeoutMs
    const leftMs = Math.max(0, this.#startedAt + completeMs - performance.now())
    const [afterMs, message] =
      leftMs < this.#timeoutMs
        ? [leftMs, `did not answer completely within ${completeMs / 1000} s`]
        : [this.#timeoutMs, `did not answer within ${this.#timeoutMs / 1000} s`]
    const abort = () => this.#controller.abort(new DOMException(message, 'TimeoutError'))
    return setTimeout(abort, afterMs)
  }
}

/** A request failed in a way that the next attempt may not: a proxy reported the forge as down, or the body was truncated. */
export class TransientFailure extends Error {
  override name = 'TransientFailure'
}

/** Comments of an issue come in one response, so thousands of them must fit. A page of 50 issues has a few hundred kB. */
const MAX_BYTES = 64 * 1024 * 1024
/** Bounds the memory of a parsed body: short values take 20 times as many bytes as their JSON text. */
const MAX_VALUES = 3_000_000
/** Bounds the stack of recursive functions that read the body. */
const MAX_DEPTH = 200

/**
 * Reads the body as JSON and calls `onChunk` for each part of it. Rejects with ForgeRefused for a web page, which the next request
 * would return too, and with TransientFailure for invalid JSON, because that is a truncated response.
 */
export async function readJson(
  response: HttpResponse,
  url: string,
  onChunk: () => void,
): Promise<unknown> {
  const refuseWebPage = () => {
    throw new ForgeRequestFailed(
      response.status,
      `${url} answers with a web page instead of JSON: check the address of the forge, and what stands in front of it`,
    )
  }
  if (/html/i.test(response.header('content-type') ?? '')) {
    response.discard()
    refuseWebPage()
  }
  const text = await readText(response, url, onChunk)
  if (/^\s*</.test(text)) refuseWebPage()
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new TransientFailure(`${url} answers with JSON that breaks off or is damaged`, {
      cause: error,
    })
  }
}

const MAX_ERROR_BYTES = 64 * 1024

/**
 * Returns whether the body is an error message of Gitea's or Forgejo's API: JSON with a message and the URL of the API's
 * documentation. A body of another content type is not read.
 */
export async function hasForgeError(response: HttpResponse): Promise<boolean> {
  if (!/^application\/json\b/i.test(response.header('content-type') ?? '')) return false
  const text = await readText(response, '', () => {}, MAX_ERROR_BYTES).catch((error: unknown) => {
    if (error instanceof ForgeRequestFailed) return ''
    throw error
  })
  try {
    const { message, url, documentation_url } = JSON.parse(text)
    // Gitea 1.15 calls the field documentation_url, later versions call it url.
    return typeof message === 'string' && /\/api\/swagger$/.test(url ?? documentation_url)
  } catch {
    return false
  }
}

async function readText(
  response: HttpResponse,
  url: string,
  onChunk: () => void,
  maxBytes = MAX_BYTES,
): Promise<string> {
  const chunks: Uint8Array[] = []
  const shape = new JsonShape()
  let bytes = 0
  for await (const chunk of response.body) {
    onChunk()
    bytes += chunk.byteLength
    chunks.push(chunk)
    shape.add(chunk)
    const excess =
      (bytes > maxBytes && `more than ${maxBytes / 1024 / 1024} MiB`) ||
      (shape.values > MAX_VALUES && `more than ${MAX_VALUES} values`) ||
      (shape.depth > MAX_DEPTH && `values nested deeper than ${MAX_DEPTH} levels`)
    if (excess) throw new ForgeRequestFailed(response.status, `${url} answers with ${excess}`)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Counts the values of a JSON text and their depth before it is parsed. Without these limits a forge that sends 64 MiB of `[[[…`
 * or `0,0,0…` would exhaust the stack or more than a gigabyte of memory. Measured: 6 ms of CPU time for 1 MB, where JSON.parse takes
 * 3 ms; that is 12 s for 100,000 responses of 20 kB.
 */
class JsonShape {
  values = 0
  /** The greatest depth so far. */
  depth = 0
  #open = 0
  #isText = false
  #isEscaped = false

  add(chunk: Uint8Array): void {
    let [values, depth, open] = [this.values, this.depth, this.#open]
    let [isText, isEscaped] = [this.#isText, this.#isEscaped]
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isText = false
      } else if (byte === QUOTE) isText = true
      else if (byte === COMMA) values++
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        values++
        if (++open > depth) depth = open
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) open--
    }
    this.values = values
    this.depth = depth
    this.#open = open
    this.#isText = isText
    this.#isEscaped = isEscaped
  }
}

/** Explains a failed connection to an operator. `url` must not contain a secret. */
export function explainConnectionError(url: string, error: unknown): string {
  const { code, message } = rootCause(error)
  const { host } = new URL(url)
  if (code === 'ECONNREFUSED') return `nothing answers at ${url}: check that the forge is running`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no such host: ${host}`
  if (isTlsCode(code))
    return `no TLS connection to ${url} (${code}): check http or https in --forge`
  if (isCertificateCode(code))
    return `the certificate of ${host} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return `the connection to ${url} broke: ${message || code}`
}

/** Returns whether TLS failed or the certificate is not trusted. Retrying helps with neither. */
export function isTlsError(error: unknown): boolean {
  const { code } = rootCause(error)
  return isTlsCode(code) || isCertificateCode(code)
}
