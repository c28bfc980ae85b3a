import type { IncomingMessage } from 'node:http'
import { http, https } from '../../../ground/node-http.ts'
import { ForgeRefused } from '../../forge-errors.ts'

/** An answer whose body is still to be read, or to be let go. */
export interface HttpAnswer {
  status: number
  header(name: string): string | undefined
  body: AsyncIterable<Uint8Array>
  /** Nobody will read the body. */
  discard(): void
}

/** Connections are kept for the next request; as many at a time as issues are read side by side, and some for others. */
const KEPT = { keepAlive: true, maxSockets: 16 }
const agents = { 'http:': new http.Agent(KEPT), 'https:': new https.Agent(KEPT) }

/**
 * Sends a GET and follows nothing. Not `fetch`: a reading is a hundred thousand requests, and what fetch leaves behind for each
 * is the most of a process's memory.
 */
export function sendGet(
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const url = new URL(address)
  const isSecure = url.protocol === 'https:'
  const { request } = isSecure ? https : http
  const agent = agents[isSecure ? 'https:' : 'http:']
  return new Promise((resolve, reject) => {
    request(url, { agent, headers, signal }, (message) => resolve(answerOf(message)))
      .on('error', reject)
      .end()
  })
}

const answerOf = (message: IncomingMessage): HttpAnswer => ({
  status: message.statusCode ?? 0,
  header: (name) => {
    const value = message.headers[name]
    return Array.isArray(value) ? value.join(',') : value
  },
  body: message,
  // What is short is read away, so that the connection can be used again.
  discard: () => void (isShort(message) ? message.resume() : message.destroy()),
})

const isShort = ({ headers }: IncomingMessage) =>
  Number(headers['content-length'] ?? Number.NaN) <= 64 * 1024

/** Ends a request whose answer, or the next piece of it, does not come, or whose asker has gone. */
export class AnswerTimeout {
  readonly #end = new AbortController()
  readonly #timeoutMs: number
  readonly #outer: AbortSignal
  #timer: NodeJS.Timeout

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.#outer = outer
    this.#timer = this.#start()
    // Not a signal made of two: a reading lasts for hours, and every request would leave something behind with it.
    outer.addEventListener('abort', this.#follow, { once: true })
    if (outer.aborted) this.#follow()
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  renew = () => {
    clearTimeout(this.#timer)
    this.#timer = this.#start()
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#follow)
  }

  readonly #follow = () => this.#end.abort(this.#outer.reason)

  #start(): NodeJS.Timeout {
    return setTimeout(
      () => this.#end.abort(new DOMException('no answer in time', 'TimeoutError')),
      this.#timeoutMs,
    )
  }
}

/** The largest answer that is taken: a page of 50 issues is rarely a hundredth of it. */
const MAX_BYTES = 64 * 1024 * 1024

/** The body ended before its end. */
export class CutBody extends Error {
  override name = 'CutBody'
}

/**
 * The body of an answer as JSON. What is no JSON at all is a page of something else, and will be next time; JSON that breaks off
 * is an answer that got lost on its way. `alive` is called with every piece.
 */
export async function readJson(
  answer: HttpAnswer,
  address: string,
  alive: () => void,
): Promise<unknown> {
  const where = address.split('?')[0]
  const text = await readText(answer, `${where}`, alive)
  const type = answer.header('content-type') ?? ''
  if (/html/i.test(type) || /^\s*</.test(text))
    throw new ForgeRefused(
      answer.status,
      `${where} answers with a web page instead of JSON: check the address of the forge, and what stands in front of it`,
    )
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CutBody(`${where} answers with JSON that breaks off or is damaged`, { cause: error })
  }
}

/** An error message is rarely a hundredth of it. */
const MAX_ERROR_BYTES = 64 * 1024

/**
 * Returns whether the body is an error message of Gitea's or Forgejo's API: JSON with a message and the address of the API's
 * documentation. The body of another type is not read.
 */
export async function hasForgeError(answer: HttpAnswer): Promise<boolean> {
  if (!/^application\/json\b/i.test(answer.header('content-type') ?? '')) return false
  const text = await readText(answer, '', () => {}, MAX_ERROR_BYTES).catch((error: unknown) => {
    if (error instanceof ForgeRefused) return ''
    throw error
  })
  try {
    const { message, url, documentation_url } = JSON.parse(text)
    // Gitea 1.15 calls the address documentation_url, later versions url.
    return typeof message === 'string' && /\/api\/swagger$/.test(url ?? documentation_url)
  } catch {
    // A body that is too long or is no JSON is no message of the forge.
    return false
  }
}

async function readText(
  answer: HttpAnswer,
  where: string,
  alive: () => void,
  maxBytes = MAX_BYTES,
): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of answer.body) {
    alive()
    bytes += piece.byteLength
    if (bytes > maxBytes)
      throw new ForgeRefused(
        answer.status,
        `${where} answers with more than ${maxBytes / 1024 / 1024} MiB`,
      )
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
