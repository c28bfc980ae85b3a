import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isCertificateCode, isTlsCode, rootCause } from '@godwit/lib/errno'
import { measureJson } from '@godwit/lib/json-shape'
import { http, https } from '@godwit/lib/node-http'
import { HostRequestFailed } from '../host-errors.ts'
import * as json from './json-fields.ts'

/** A response whose body the caller must read or discard. */
export interface HttpResponse {
  status: number
  /** Returns the value of a header. The name must be in lower case. */
  header(name: string): string | undefined
  body: Readable
  discard(): void
}

/** Several jobs of a process may run at the same time, and each reads four issues at a time. */
const AGENT_OPTIONS = { keepAlive: true, maxSockets: 16 }
const agents = { 'http:': new http.Agent(AGENT_OPTIONS), 'https:': new https.Agent(AGENT_OPTIONS) }

/** The body of a request. A retry opens it again. */
export type Payload = { bytes: number; open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array> }

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  headers?: Record<string, string> | undefined
  payload?: Payload | undefined
}

/**
 * Sends a request. Does not follow redirects. Does not use `fetch`, because a large repository takes 100,000 requests, and
 * the objects that fetch allocates for each would take up most of the memory of the process.
 */
export function sendRequest(
  url: string,
  { method, headers: given = {}, payload }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const headers = payload ? { ...given, 'content-length': String(payload.bytes) } : given
  const isSecure = url.startsWith('https:')
  const { request } = isSecure ? https : http
  const agent = agents[isSecure ? 'https:' : 'http:']
  return new Promise((resolve, reject) => {
    const sent = request(new URL(url), { agent, method, headers, signal }, (message) =>
      resolve(toHttpResponse(message)),
    ).on('error', reject)
    if (payload) pipeline(Readable.from(payload.open()), sent).catch(reject)
    else sent.end()
  })
}

/** A shorter body that arrives in time is discarded by reading it to its end, any other by closing the connection. */
const MAX_DRAINED_BYTES = 64 * 1024
const DRAIN_TIMEOUT_MS = 10_000

const toHttpResponse = (message: IncomingMessage): HttpResponse => ({
  status: message.statusCode ?? 0,
  header: (name) => {
    const value = message.headers[name]
    return Array.isArray(value) ? value.join(',') : value
  },
  body: message,
  discard() {
    const length = Number(message.headers['content-length'] ?? Number.NaN)
    // The agent can reuse a connection only after the body was read to its end.
    if (!(length <= MAX_DRAINED_BYTES)) return void message.destroy()
    const timer = setTimeout(() => message.destroy(), DRAIN_TIMEOUT_MS).unref()
    message.once('close', () => clearTimeout(timer)).resume()
  },
})

/** The complete response may take this many times `timeoutMs`. */
const TOTAL_TIMEOUT_FACTOR = 2

export type ResponseTimeout = ReturnType<typeof startTimeout>

/**
 * Aborts a request if the response, or the next part of its body, does not arrive in time, if the complete response takes too long,
 * or if the caller's signal aborts.
 */
export function startTimeout(timeoutMs: number, callerSignal: AbortSignal) {
  const controller = new AbortController()
  const totalTimeoutMs = TOTAL_TIMEOUT_FACTOR * timeoutMs
  const startedAt = performance.now()
  const startTimer = () => {
    const remainingMs = Math.max(0, startedAt + totalTimeoutMs - performance.now())
    const [delayMs, message] =
      remainingMs < timeoutMs
        ? [remainingMs, `did not respond completely within ${totalTimeoutMs / 1000} s`]
        : [timeoutMs, `did not respond within ${timeoutMs / 1000} s`]
    return setTimeout(() => controller.abort(new DOMException(message, 'TimeoutError')), delayMs)
  }
  let timer = startTimer()
  const abort = () => controller.abort(callerSignal.reason)
  // AbortSignal.any would leak memory: the caller's signal lives for hours and would keep a reference for every request.
  callerSignal.addEventListener('abort', abort, { once: true })
  if (callerSignal.aborted) abort()
  return {
    signal: controller.signal,
    /** Restarts the timeout. Called when a part of the response has arrived. */
    renew() {
      clearTimeout(timer)
      timer = startTimer()
    },
    /** Stops the timeout. Called when the response is complete or has failed. */
    end() {
      clearTimeout(timer)
      callerSignal.removeEventListener('abort', abort)
    },
  }
}

/** A request failed, but a retry may succeed: a proxy reported the host as down, or the body was truncated. */
export class TransientFailure extends Error {
  override name = 'TransientFailure'
}

/** The host sends all comments of an issue in one response, which can be thousands. A page of 50 issues has a few hundred kB. */
const MAX_BYTES = 64 * 1024 * 1024
/** Limits the memory for a parsed body: short values take 20 times as many bytes as their JSON text. */
const MAX_VALUES = 3_000_000
/** Limits the recursion of functions that read the body. */
const MAX_DEPTH = 200

/**
 * Reads the body as JSON and calls `onChunk` for each part of it. Rejects with HostRequestFailed for a web page or a body above
 * the limits, because a retry would not help, and with TransientFailure for invalid JSON, which is usually a truncated response.
 */
export async function readJson(response: HttpResponse, url: string, onChunk: () => void) {
  const failForWebPage = () => {
    throw new HostRequestFailed(
      response.status,
      `${url} responded with a web page instead of JSON: check the address of the forge, and any proxy in front of it`,
    )
  }
  if (/html/i.test(response.header('content-type') ?? '')) {
    response.discard()
    failForWebPage()
  }
  const text = await readText(response, url, onChunk)
  if (/^\s*</.test(text)) failForWebPage()
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new TransientFailure(`${url} responded with truncated or invalid JSON`, { cause })
  }
}

const MAX_ERROR_BYTES = 64 * 1024
const DOCUMENTATION_URL = /\/api\/swagger$|^https:\/\/(?:docs|developer)\.github\.com\//

/**
 * Reads the body and returns its message if it is an error of the API of Gitea, Forgejo or GitHub: JSON with a message and the URL of
 * the API's documentation. Otherwise returns undefined. A body of another content type is not read.
 */
export async function readApiError(response: HttpResponse): Promise<string | undefined> {
  if (!/^application\/json\b/i.test(response.header('content-type') ?? '')) return undefined
  try {
    const text = await readText(response, '', () => {}, MAX_ERROR_BYTES)
    const { message, url, documentation_url } = json.objectOf(JSON.parse(text))
    // Gitea 1.15 and GitHub call the field documentation_url, later versions of Gitea call it url.
    const isError = DOCUMENTATION_URL.test(String(url ?? documentation_url))
    return isError && typeof message === 'string' ? message : undefined
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof HostRequestFailed) return undefined
    throw error
  }
}

async function readText(
  response: HttpResponse,
  url: string,
  onChunk: () => void,
  maxBytes = MAX_BYTES,
): Promise<string> {
  const fail = (excess: string) => {
    throw new HostRequestFailed(response.status, `${url} responded with ${excess}`)
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    onChunk()
    bytes += chunk.byteLength
    if (bytes > maxBytes) fail(`more than ${maxBytes / 1024 / 1024} MiB`)
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks)
  const { values, depth } = measureJson(body)
  if (depth > MAX_DEPTH) fail(`values nested deeper than ${MAX_DEPTH} levels`)
  if (values > MAX_VALUES) fail(`more than ${MAX_VALUES} values`)
  return body.toString('utf8')
}

/** Returns an error message for the operator. It contains `url`, which must not contain a secret. */
export function explainConnectionError(url: string, error: unknown): string {
  const { code, message } = rootCause(error)
  const { host } = new URL(url)
  if (code === 'ECONNREFUSED') return `nothing responds at ${url}: check that the forge is running`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no such host: ${host}`
  if (isTlsCode(code))
    return `no TLS connection to ${url} (${code}): check http or https in --forge`
  if (isCertificateCode(code))
    return `the certificate of ${host} is not trusted (${code}): set NODE_EXTRA_CA_CERTS=FILE to trust your own authority`
  return `the connection to ${url} broke: ${message || code}`
}

/** Returns whether TLS failed or the certificate is not trusted. A retry does not help. */
export function isTlsError(error: unknown): boolean {
  const { code } = rootCause(error)
  return isTlsCode(code) || isCertificateCode(code)
}
