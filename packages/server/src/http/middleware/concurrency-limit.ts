import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { http } from '@godwit/lib/node-http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError, overloaded, tooManyRequests } from './http-errors.ts'
import { callerKey } from './request.ts'
import { watchClient } from './response-stream.ts'

export interface ConcurrencyOptions {
  /** How many requests may run at a time. */
  max: number
  /** How many of these may be of one caller. */
  maxPerCaller: number
  /** How many requests of all callers together may wait. One caller may have half of them. */
  maxWaiting: number
  /** How long a request waits before it is rejected. */
  waitMs?: number
  /**
   * Creates the error for a request that waited too long, or when the queue is full. `isCallerFull`: `maxPerCaller` is reached. By
   * default it is 429 then, and 503 otherwise.
   */
  createError?: (isCallerFull: boolean) => Error
}

/** Less than the minute after which proxies give up on a silent server. */
const WAIT_MS = 45_000
const tooBusy = (isCallerFull: boolean) => (isCallerFull ? tooManyRequests() : overloaded())

export type ConcurrencyLimit = ReturnType<typeof concurrencyLimit>

/**
 * Limits how many requests of a kind run, in total and per caller. Further requests wait, since many clients do not retry. No
 * caller can use all slots or fill the queue, so a caller with many requests delays only itself.
 */
export function concurrencyLimit(options: ConcurrencyOptions) {
  const { max, maxPerCaller, maxWaiting, waitMs = WAIT_MS, createError = tooBusy } = options
  const running = new CallerCounts()
  const waitingCounts = new CallerCounts()
  const queue = new Set<{ caller: string; start(): void }>()

  const isCallerFull = (caller: string) => running.of(caller) >= maxPerCaller
  const mayStart = (caller: string) => running.total() < max && !isCallerFull(caller)

  function start(caller: string): () => void {
    running.add(caller, 1)
    return () => {
      running.add(caller, -1)
      for (const next of queue) if (mayStart(next.caller)) return next.start()
    }
  }

  function wait(caller: string, signal: AbortSignal): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const leave = () => {
      queue.delete(request)
      waitingCounts.add(caller, -1)
      clearTimeout(timeout)
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = () => {
      leave()
      reject(signal.reason)
    }
    const request = {
      caller,
      start() {
        leave()
        resolve(start(caller))
      },
    }
    const timeout = setTimeout(() => {
      leave()
      reject(createError(isCallerFull(caller)))
    }, waitMs)
    queue.add(request)
    waitingCounts.add(caller, 1)
    signal.addEventListener('abort', onAbort, { once: true })
    return promise
  }

  /** Waits until the request may run. Resolves to a function that must be called when it has ended. */
  async function take(caller: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (mayStart(caller)) return start(caller)
    const isQueueFull =
      queue.size >= maxWaiting || waitingCounts.of(caller) >= Math.ceil(maxWaiting / 2)
    if (isQueueFull) throw createError(isCallerFull(caller))
    return wait(caller, signal)
  }

  return {
    take,
    /**
     * Waits until the request may run. It counts until its response has ended. Resolves to a signal that aborts when the client
     * disconnects, so that the work can stop.
     */
    async begin(request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal> {
      const { signal, closed } = watchClient(reply.raw)
      const release = await take(callerKey(request), signal)
      void closed.then(release)
      return signal
    },
    running: () => running.total(),
    waiting: () => queue.size,
  }
}

/** Amounts by caller, and their sum. A caller whose amount is zero takes no memory. */
export class CallerCounts {
  readonly #amounts = new Map<string, number>()
  #total = 0

  of(caller: string): number {
    return this.#amounts.get(caller) ?? 0
  }

  total(): number {
    return this.#total
  }

  add(caller: string, by: number): void {
    const amount = this.of(caller) + by
    this.#total += by
    if (amount === 0) this.#amounts.delete(caller)
    else this.#amounts.set(caller, amount)
  }
}

/** Who waits: the key under which limits count, and a signal that aborts when the client disconnects. */
export type Client = { caller: string; signal: AbortSignal }

/** Runs a task as soon as the limit allows. */
export async function withSlot<T>(
  limit: ConcurrencyLimit,
  { caller, signal }: Client,
  task: () => Promise<T>,
): Promise<T> {
  using slot = new DisposableStack()
  slot.defer(await limit.take(caller, signal))
  return await task()
}

/** The limit of requests of one kind that need much time or memory. */
export const HEAVY_REQUESTS: ConcurrencyOptions = { max: 8, maxPerCaller: 2, maxWaiting: 200 }

export interface AdmissionOptions {
  /** Connections at a time; further ones are refused. */
  maxConnections: number
  /**
   * Requests at a time, without streams and without requests whose body is still being sent; further ones get 503. The same number
   * of bodies may be in transit, a tenth of them of one account or address.
   */
  maxRequests: number
  /** Downloads and event streams at a time. */
  maxStreams: number
  /** Downloads and event streams at a time of one account. */
  maxStreamsPerAccount: number
  /** How long a client may take to send a request, and how long it may pause while it reads a response. */
  clientTimeoutMs: number
}

export type Admission = ReturnType<typeof createAdmission>

const KEEP_ALIVE_MS = 72_000
const NEVER_REJECTED = new Set(['/healthz', '/readyz', '/metrics'])

/**
 * Rejects requests above the limit at once, rather than keeping them in memory. This runs before Fastify: a rejection takes a few
 * microseconds, and hooks would cost every request many times as much.
 */
export function createAdmission(options: AdmissionOptions, documentation: string) {
  const { maxConnections, maxRequests, clientTimeoutMs } = options
  const { maxStreams, maxStreamsPerAccount } = options
  const streams = new CallerCounts()
  const bodies = new CallerCounts()
  const maxBodiesPerCaller = Math.ceil(maxRequests / 10)
  /** Open responses, with the state of their socket at the last check. */
  const open = new Map<ServerResponse, string>()
  const rejectOverloaded = rejection(documentation, overloaded(), { 'retry-after': '1' })
  const rejectWithoutHost = rejection(
    documentation,
    new HttpError(400, 'The Host header is missing'),
  )
  const rejectRepeatedHost = rejection(
    documentation,
    new HttpError(400, 'The Host header is repeated'),
  )
  const rejectExpectation = rejection(documentation, new HttpError(417, 'Expectation Failed'))
  let requests = 0
  let rejectedCount = 0

  // One function for all responses, which is cheaper than a closure for each.
  function onClose(this: ServerResponse) {
    requests--
    open.delete(this)
  }

  /**
   * Ends responses of which the client has read nothing since the last call although bytes wait. A slow client is not stalled: any
   * byte read counts. The timeout of the socket cannot do this, because it counts what the client sends as activity.
   */
  function endStalled(): void {
    for (const [response, last] of open) {
      const { bytesWritten = 0, writableLength = 0 } = response.socket ?? {}
      const state = `${bytesWritten} ${writableLength}`
      if (writableLength > 0 && state === last) response.destroy()
      else open.set(response, state)
    }
  }

  function admit(listener: RequestListener, request: IncomingMessage, response: ServerResponse) {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      return rejectWithoutHost(request, response)
    if (hasSeveralHosts(request)) return rejectRepeatedHost(request, response)
    if (requests - streams.total() >= maxRequests && !NEVER_REJECTED.has(request.url!)) {
      rejectedCount++
      return rejectOverloaded(request, response)
    }
    requests++
    open.set(response, '')
    response.on('close', onClose)
    listener(request, response)
  }

  return {
    /** Creates the server that Fastify listens with. */
    server(listener: RequestListener): Server {
      const server = http.createServer(
        {
          headersTimeout: clientTimeoutMs,
          requestTimeout: clientTimeoutMs,
          connectionsCheckingInterval: Math.min(clientTimeoutMs / 4, 30_000),
          keepAliveTimeout: KEEP_ALIVE_MS,
          // Node's own response has no body.
          requireHostHeader: false,
        },
        (request, response) => admit(listener, request, response),
      )
      server.on('checkExpectation', rejectExpectation)
      server.maxConnections = maxConnections
      const watch = setInterval(endStalled, clientTimeoutMs).unref()
      server.once('close', () => clearInterval(watch))
      return server
    },

    /**
     * Marks a request whose body is still being sent, until the result is disposed of. Meanwhile it does not count as a running
     * request. Throws if the caller, or all callers together, send too many bodies.
     */
    receive(caller: string): Disposable {
      if (bodies.of(caller) >= maxBodiesPerCaller) throw tooManyRequests()
      if (bodies.total() >= maxRequests) {
        rejectedCount++
        throw overloaded()
      }
      bodies.add(caller, 1)
      requests--
      return {
        [Symbol.dispose]() {
          bodies.add(caller, -1)
          requests++
        },
      }
    },

    /** Marks a response as a stream, which may last as long as its client keeps reading. Throws if there are too many. */
    stream(response: ServerResponse, accountId: number): void {
      const account = String(accountId)
      if (streams.of(account) >= maxStreamsPerAccount)
        throw new HttpError(
          429,
          'You have exceeded a secondary rate limit: too many downloads and event streams of this account are open. ' +
            'Please try again later.',
        )
      if (streams.total() >= maxStreams) {
        rejectedCount++
        throw overloaded()
      }
      streams.add(account, 1)
      response.once('close', () => streams.add(account, -1))
    },

    rejectedCount: () => rejectedCount,
  }
}

/** Returns whether a request names several hosts. A proxy may check one of them while Node uses the first. */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++
  return hosts > 1
}

/** Returns a listener that sends this error to every request. */
function rejection(
  documentation: string,
  { status, message }: HttpError,
  more: Record<string, string> = {},
): RequestListener {
  const text = { message, documentation_url: documentation, status: String(status) }
  const body = Buffer.from(JSON.stringify(text))
  const headers = {
    // Without it, a page in a browser cannot read the response.
    'access-control-allow-origin': '*',
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    ...more,
  }
  return (_request, response) => void response.writeHead(status, headers).end(body)
}
