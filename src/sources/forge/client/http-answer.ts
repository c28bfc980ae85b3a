import type { IncomingMessage } from 'node:http'
import { http, https } from '../../../lib/node-http.ts'
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

/** An answer must be complete within so many times the time that may pass before it begins. */
const COMPLETE_WITHIN = 2

/**
 * Ends a request whose answer, or the next piece of it, does not come in time, whose answer as a whole takes too long, or whose
 * asker has gone.
 */
export class AnswerTimeout {
  readonly #end = new AbortController()
  readonly #timeoutMs: number
  readonly #startedAt = performance.now()
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
    const wholeMs = COMPLETE_WITHIN * this.#timeoutMs
    const leftMs = Math.max(0, this.#startedAt + wholeMs - performance.now())
    const [afterMs, words] =
      leftMs < this.#timeoutMs
        ? [leftMs, `did not answer completely within ${wholeMs / 1000} s`]
        : [this.#timeoutMs, `did not answer within ${this.#timeoutMs / 1000} s`]
    return setTimeout(() => this.#end.abort(new DOMException(words, 'TimeoutError')), afterMs)
  }
}

/** The largest answer that is taken: a page of 50 issues is rarely a hundredth of it. */
const MAX_BYTES = 64 * 1024 * 1024
/** How many values it may have, and how deep they may be nested: short values take twenty times as much memory as their text. */
const MAX_VALUES = 3_000_000
const MAX_DEPTH = 200
/** Only a larger answer is looked through before it is parsed: that takes half as long as to parse it. */
const SMALL_BYTES = 1024 * 1024

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
  const body = parseJson(text, `${where}`)
  if (isDeeper(body, MAX_DEPTH))
    throw new ForgeRefused(answer.status, `${where} answers with ${TOO_DEEP}`)
  return body
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CutBody(`${where} answers with JSON that breaks off or is damaged`, { cause: error })
  }
}

const TOO_DEEP = `values nested deeper than ${MAX_DEPTH} levels`

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((each) => isDeeper(each, levels - 1))
  for (const name in value)
    if (isDeeper((value as Record<string, unknown>)[name], levels - 1)) return true
  return false
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
  const shape = new JsonShape()
  let [bytes, counted] = [0, 0]
  for await (const piece of answer.body) {
    alive()
    bytes += piece.byteLength
    pieces.push(piece)
    if (bytes > SMALL_BYTES) while (counted < pieces.length) shape.add(pieces[counted++]!)
    const excess =
      (bytes > maxBytes && `more than ${maxBytes / 1024 / 1024} MiB`) ||
      (shape.values > MAX_VALUES && `more than ${MAX_VALUES} values`) ||
      (shape.depth > MAX_DEPTH && TOO_DEEP)
    if (excess) throw new ForgeRefused(answer.status, `${where} answers with ${excess}`)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Counts the values of a JSON text and how deep they are nested, piece by piece, before it is parsed. */
class JsonShape {
  values = 0
  /** The deepest so far. */
  depth = 0
  #open = 0
  #isText = false
  #isEscaped = false

  add(piece: Uint8Array): void {
    let [values, depth, open] = [this.values, this.depth, this.#open]
    let [isText, isEscaped] = [this.#isText, this.#isEscaped]
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]
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
