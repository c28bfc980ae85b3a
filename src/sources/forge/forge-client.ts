import { setTimeout as sleep } from 'node:timers/promises'
import { forgeAddress } from './forge-address.ts'
import { type ForgeBudget, NO_BUDGET } from './forge-budget.ts'
import {
  ForgeFailed,
  ForgeRefused,
  isCertificateError,
  NotThere,
  WaitUntil,
  whyUnreachable,
} from './forge-errors.ts'
import { CutBody, readJson } from './read-json.ts'
import { retryAfter } from './retry-after.ts'

export interface ForgeOptions {
  /** Such as `https://git.example.com`, or `https://example.com/git`. */
  url: string
  /** Sent in a header, to this forge alone; never part of an address, a message or a log. */
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

export interface Answer {
  body: unknown
  headers: Headers
}

/** One forge, asked with one token. Every method rejects with WaitUntil, ForgeRefused, NotThere or ForgeFailed. */
export interface ForgeClient {
  /** Without a slash at the end. */
  url: string
  /** JSON below `/api/v1`; `path` begins with a slash and has its segments encoded. */
  get(path: string, query: Query, signal: AbortSignal): Promise<Answer>
  /** The answer to a download of a path of the forge itself; its body is not yet read. */
  download(path: string, signal: AbortSignal): Promise<Response>
  /** How many requests were sent so far. */
  requests(): number
  /** The forge's own clock, as its last answer told it; ours until then. */
  now(): number
}

const TRIES = 3
/** Told to wait no longer than this, we wait here; otherwise the job goes back. */
const SHORT_WAIT_MS = 2000
/** When to look again for a forge that is away, or says only that it is busy. */
const AWAY_MS = 30_000
const MAX_REDIRECTS = 3

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
    this.#headers = { authorization: `token ${options.token}`, 'user-agent': 'godwit' }
    this.#budget = options.budget ?? NO_BUDGET
    this.#storageOrigins = options.storageOrigins ?? []
    this.#timeoutMs = options.timeoutMs ?? 60_000
    this.#pauseMs = options.pauseMs ?? 500
    this.#now = options.now ?? Date.now
  }

  requests = () => this.#requests
  now = () => this.#now() + this.#clockAheadMs

  get(path: string, query: Query, signal: AbortSignal): Promise<Answer> {
    const asked = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)]),
    ).toString()
    const address = `${this.url}/api/v1${path}${asked && `?${asked}`}`
    return this.#untilAnswered(address, signal, async (patience) => {
      const answer = await this.#send(address, { accept: 'application/json' }, patience.signal)
      await this.#refuseRedirect(answer, address)
      await this.#refuseFailure(answer, address, path)
      return { body: await readJson(answer, address, patience.renew), headers: answer.headers }
    })
  }

  download(path: string, signal: AbortSignal): Promise<Response> {
    const first = `${this.url}${path}`
    return this.#untilAnswered(first, signal, async (patience) => {
      let [address, answer] = [first, await this.#send(first, {}, patience.signal)]
      for (let n = 0; n < MAX_REDIRECTS && isRedirect(answer); n++) {
        address = await this.#whereTo(answer, address)
        answer = await this.#send(address, {}, patience.signal)
      }
      await this.#refuseRedirect(answer, address)
      await this.#refuseFailure(answer, address, path)
      return answer
    })
  }

  /** Tries again what may pass by itself, a few times; then it is for later. */
  async #untilAnswered<T>(
    address: string,
    signal: AbortSignal,
    ask: (patience: Patience) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      const patience = new Patience(this.#timeoutMs, signal)
      try {
        return await ask(patience)
      } catch (error) {
        signal.throwIfAborted()
        const pauseMs = this.#pauseBefore(error, tries, address)
        await sleep(pauseMs, undefined, { signal })
      } finally {
        patience.end()
      }
    }
  }

  /** How long to wait before trying again; throws what is to be told instead. */
  #pauseBefore(error: unknown, tries: number, address: string): number {
    if (error instanceof WaitUntil) {
      const waitMs = error.dueAt - this.#now()
      if (error.why !== 'told' || waitMs > SHORT_WAIT_MS || tries === TRIES) throw error
      return waitMs
    }
    const isFailed = error instanceof ForgeFailed
    if (error instanceof ForgeRefused && !isFailed) throw error
    if (tries < TRIES) return this.#pauseMs * 2 ** (tries - 1)
    if (isFailed) throw error
    if (error instanceof CutBody || isBroken(error) || error instanceof Away)
      throw new WaitUntil(this.#now() + AWAY_MS, 'away', this.#words(error, address), {
        cause: error,
      })
    throw error
  }

  #words(error: unknown, address: string): string {
    if (error instanceof CutBody || error instanceof Away) return error.message
    if (error instanceof Error && error.name === 'TimeoutError')
      return `${shown(address)} did not answer within ${this.#timeoutMs / 1000} s`
    return whyUnreachable(shown(address), error)
  }

  async #send(
    address: string,
    more: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Response> {
    const isHome = new URL(address).origin === this.#origin
    await this.#budget.take()
    this.#requests++
    const headers = isHome ? { ...this.#headers, ...more } : more
    const answer = await fetch(address, { headers, redirect: 'manual', signal }).catch((error) => {
      if (isCertificateError(error))
        throw new ForgeRefused(0, whyUnreachable(shown(address), error))
      throw error
    })
    const said = isHome ? Date.parse(answer.headers.get('date') ?? '') : Number.NaN
    if (!Number.isNaN(said)) this.#clockAheadMs = said - this.#now()
    return answer
  }

  /** Where a download is sent on to: the forge itself, or a storage that the operator named. */
  async #whereTo(answer: Response, address: string): Promise<string> {
    const to = redirectTarget(answer, address)
    if (to && (to.origin === this.#origin || this.#storageOrigins.includes(to.origin))) {
      await answer.body?.cancel()
      return to.href
    }
    return this.#refuseRedirect(answer, address) as never
  }

  async #refuseRedirect(answer: Response, address: string): Promise<void> {
    if (!isRedirect(answer)) return
    await answer.body?.cancel()
    const to = redirectTarget(answer, address)
    const where =
      to === undefined ? 'elsewhere' : to.origin === this.#origin ? shown(to.href) : to.origin
    throw new ForgeRefused(
      answer.status,
      `${shown(address)} redirects to ${where}: the token is not sent there. Use the address that the forge answers at`,
    )
  }

  async #refuseFailure(answer: Response, address: string, path: string): Promise<void> {
    const { status, headers } = answer
    if (answer.ok) return
    await answer.body?.cancel()
    const where = shown(address)
    const later = retryAfter(headers, this.#now())
    if (
      status === 429 ||
      (status === 403 && later !== undefined) ||
      (status === 503 && later !== undefined)
    ) {
      const dueAt = later ?? this.#now() + AWAY_MS
      await this.#budget.holdUntil(dueAt)
      throw new WaitUntil(dueAt, 'told', `${this.url} asks to wait (status ${status})`)
    }
    if (status === 502 || status === 503 || status === 504)
      throw new Away(`${where} is away for now (status ${status})`)
    if (status === 404 || status === 410) throw new NotThere(status, `${where} is not there`)
    if (status >= 500) throw new ForgeFailed(status, `${where} failed with status ${status}`)
    if (status === 401) throw new ForgeRefused(status, `${this.url} does not accept the token`)
    if (status === 403)
      throw new ForgeRefused(status, `the token may not read ${path} of ${this.url}`)
    throw new ForgeRefused(status, `${where} answers with status ${status}`)
  }
}

/** A proxy answers for a forge that does not. */
class Away extends Error {
  override name = 'Away'
}

/** Ends a request whose answer, or the next piece of it, does not come. */
class Patience {
  readonly signal: AbortSignal
  readonly #late = new AbortController()
  readonly #timeoutMs: number
  #timer: NodeJS.Timeout

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.signal = AbortSignal.any([outer, this.#late.signal])
    this.#timer = this.#start()
  }

  renew = () => {
    clearTimeout(this.#timer)
    this.#timer = this.#start()
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #start(): NodeJS.Timeout {
    return setTimeout(
      () => this.#late.abort(new DOMException('no answer in time', 'TimeoutError')),
      this.#timeoutMs,
    )
  }
}

const isRedirect = ({ status }: Response) => [301, 302, 303, 307, 308].includes(status)

function redirectTarget(answer: Response, from: string): URL | undefined {
  const location = answer.headers.get('location') ?? ''
  return location && URL.canParse(location, from) ? new URL(location, from) : undefined
}

/** What fetch throws for a connection that failed or was given up. */
const isBroken = (error: unknown) =>
  error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError')

/** An address as it is told: what was asked for is left out. */
const shown = (address: string) => address.split('?')[0] ?? address
