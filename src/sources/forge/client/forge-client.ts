import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../../lib/errno.ts'
import { ForgeError, ForgeRefused, WaitUntil } from '../../forge-errors.ts'
import { forgeAddress } from './forge-address.ts'
import { type ForgeBudget, NO_BUDGET } from './forge-budget.ts'
import {
  AnswerTimeout,
  CutBody,
  type HttpAnswer,
  hasForgeError,
  readJson,
  sendGet,
} from './http-answer.ts'
import { ForgeTemporarilyUnavailable, refusalOf, shown, UNAVAILABLE_MS } from './refusal.ts'
import { isTlsError, whyUnreachable } from './unreachable.ts'

export interface ForgeOptions {
  /** Such as `https://git.example.com`, or `https://example.com/git`. */
  url: string
  /** Sent in a header, to this forge alone; never part of an address, a message or a log. Empty: as anybody asks. */
  token: string
  budget?: ForgeBudget
  /** Origins that downloads may be sent on to, without the token: where the forge serves its object storage directly. */
  storageOrigins?: readonly string[]
  /** How long to wait for an answer, and for each further piece of it. */
  timeoutMs?: number
  /** Pause before the second try; it doubles with the third. */
  pauseMs?: number
  now?: () => number
}

export type Query = Readonly<Record<string, string | number>>

export interface ForgeAnswer {
  body: unknown
  /** By its name in lower case. */
  header(name: string): string | undefined
}

/** One forge, asked with one token. Every method rejects with WaitUntil, ForgeRefused, ForgeNotFound or ForgeError. */
export interface ForgeClient {
  /** Without a slash at the end. */
  url: string
  /** JSON below `/api/v1`; `path` begins with a slash and has its segments encoded. */
  get(path: string, query: Query, signal: AbortSignal): Promise<ForgeAnswer>
  /** The answer to a download of a path of the forge itself; its body is not yet read. */
  download(path: string, signal: AbortSignal): Promise<HttpAnswer>
  /** How many requests were sent so far. */
  requests(): number
  /** The forge's own clock, as its last answer told it; ours until then. */
  now(): number
}

const TRIES = 3
/** Told to wait no longer than this, we wait here; otherwise the job goes back. */
const SHORT_WAIT_MS = 2000

export function forgeClient(options: ForgeOptions): ForgeClient {
  return new Client(options)
}

class Client implements ForgeClient {
  readonly url: string
  readonly #origin: string
  readonly #headers: Record<string, string>
  readonly #budget: ForgeBudget
  readonly #storageOrigins: readonly string[]
  readonly #timeoutMs: number
  readonly #pauseMs: number
  readonly #now: () => number
  #requests = 0
  #clockAheadMs = 0

  constructor(options: ForgeOptions) {
    this.url = forgeAddress(options.url)
    this.#origin = new URL(this.url).origin
    const authorization = options.token && { authorization: `token ${options.token}` }
    this.#headers = { ...authorization, 'user-agent': 'godwit' }
    this.#budget = options.budget ?? NO_BUDGET
    this.#storageOrigins = options.storageOrigins ?? []
    this.#timeoutMs = options.timeoutMs ?? 60_000
    this.#pauseMs = options.pauseMs ?? 500
    this.#now = options.now ?? Date.now
  }

  requests = () => this.#requests
  now = () => this.#now() + this.#clockAheadMs

  get(path: string, query: Query, signal: AbortSignal): Promise<ForgeAnswer> {
    const asked = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)]),
    ).toString()
    const address = `${this.url}/api/v1${path}${asked && `?${asked}`}`
    return this.#untilAnswered(address, signal, async (timeout) => {
      const answer = await this.#send(address, { accept: 'application/json' }, timeout.signal)
      await this.#refuseRedirect(answer, address)
      await this.#refuseFailure(answer, address)
      return { body: await readJson(answer, address, timeout.renew), header: answer.header }
    })
  }

  download(path: string, signal: AbortSignal): Promise<HttpAnswer> {
    const first = `${this.url}${path}`
    return this.#untilAnswered(first, signal, async (timeout) => {
      let [address, answer] = [first, await this.#send(first, {}, timeout.signal)]
      const storage = await this.#storageOf(answer, address)
      if (storage) {
        address = storage
        answer = await this.#send(address, {}, timeout.signal, true)
      }
      await this.#refuseRedirect(answer, address, STORAGE_ADVICE)
      await this.#refuseFailure(answer, address)
      return answer
    })
  }

  /** Tries again what may pass by itself, a few times; then it is for later. */
  async #untilAnswered<T>(
    address: string,
    signal: AbortSignal,
    ask: (timeout: AnswerTimeout) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      const timeout = new AnswerTimeout(this.#timeoutMs, signal)
      try {
        return await ask(timeout)
      } catch (error) {
        signal.throwIfAborted()
        const why: unknown = timeout.signal.aborted ? timeout.signal.reason : error
        const pauseMs = this.#pauseBefore(why, tries, address)
        await sleep(pauseMs, undefined, { signal })
      } finally {
        timeout.end()
      }
    }
  }

  /** How long to wait before trying again; throws what is to be told instead. */
  #pauseBefore(error: unknown, tries: number, address: string): number {
    if (error instanceof WaitUntil) {
      const waitMs = error.dueAt - this.#now()
      if (error.why !== 'told' || waitMs > SHORT_WAIT_MS || tries === TRIES) throw error
      return Math.max(0, waitMs)
    }
    const isFailed = error instanceof ForgeError
    if (error instanceof ForgeRefused && !isFailed) throw error
    if (tries < TRIES) return this.#pauseMs * 2 ** (tries - 1)
    if (isFailed) throw error
    if (error instanceof CutBody || isBroken(error) || error instanceof ForgeTemporarilyUnavailable)
      throw new WaitUntil(this.#now() + UNAVAILABLE_MS, 'away', this.#words(error, address), {
        cause: error,
      })
    throw error
  }

  #words(error: unknown, address: string): string {
    if (error instanceof CutBody || error instanceof ForgeTemporarilyUnavailable)
      return error.message
    if (error instanceof Error && error.name === 'TimeoutError')
      return `${shown(address)} ${error.message}`
    return whyUnreachable(shown(address), error)
  }

  async #send(
    address: string,
    more: Record<string, string>,
    signal: AbortSignal,
    isStorage = false,
  ): Promise<HttpAnswer> {
    const isHome = !isStorage && new URL(address).origin === this.#origin
    await this.#budget.take()
    this.#requests++
    const headers = isHome ? { ...this.#headers, ...more } : more
    const answer = await sendGet(address, headers, signal).catch((error: unknown) => {
      if (isTlsError(error)) throw new ForgeRefused(0, whyUnreachable(shown(address), error))
      throw error
    })
    const said = isHome ? Date.parse(answer.header('date') ?? '') : Number.NaN
    if (!Number.isNaN(said)) this.#clockAheadMs = said - this.#now()
    return answer
  }

  /** Where a download is sent on to: a storage that the operator named; undefined for any other place. */
  async #storageOf(answer: HttpAnswer, address: string): Promise<string | undefined> {
    const to = isRedirect(answer) ? redirectTarget(answer, address) : undefined
    if (!to || !this.#storageOrigins.includes(to.origin)) return undefined
    answer.discard()
    return to.href
  }

  async #refuseFailure(answer: HttpAnswer, address: string): Promise<void> {
    if (answer.status >= 200 && answer.status <= 299) return
    const { status } = answer
    const isFromForge = status === 404 && (await hasForgeError(answer))
    answer.discard()
    const later = answer.header('retry-after')
    const refusal = refusalOf({ status, later, isFromForge, url: this.url, address }, this.#now())
    if (refusal instanceof WaitUntil) await this.#budget.holdUntil(refusal.dueAt)
    throw refusal
  }

  async #refuseRedirect(
    answer: HttpAnswer,
    address: string,
    advice = ADDRESS_ADVICE,
  ): Promise<void> {
    if (!isRedirect(answer)) return
    answer.discard()
    const to = redirectTarget(answer, address)
    const where =
      to === undefined ? 'elsewhere' : to.origin === this.#origin ? shown(to.href) : to.origin
    throw new ForgeRefused(
      answer.status,
      `${shown(address)} redirects to ${where}: the token is not sent there. ${advice}`,
    )
  }
}

const ADDRESS_ADVICE = 'Use the address that the forge answers at'
const STORAGE_ADVICE = "If that is the forge's object storage, name it with --forge-storage-origins"

const isRedirect = ({ status }: HttpAnswer) => [301, 302, 303, 307, 308].includes(status)

function redirectTarget(answer: HttpAnswer, from: string): URL | undefined {
  const location = answer.header('location') ?? ''
  return location && URL.canParse(location, from) ? new URL(location, from) : undefined
}

/** A connection that failed, or was given up. */
const isBroken = (error: unknown) =>
  codeOf(error) !== undefined || (error instanceof Error && error.name === 'TimeoutError')
