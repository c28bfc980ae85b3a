import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { http } from '../../lib/node-http.ts'
import { busy, tooManyRequests, tooManyStreams } from './refusals.ts'
import { Tally } from './tally.ts'

export interface AdmissionOptions {
  /** Connections at a time; more are not taken. */
  maxConnections: number
  /**
   * Requests at a time, not counting streams and bodies that are still being sent; more are answered 503. So many bodies may be
   * sent at a time, a tenth of them by one account or address.
   */
  maxRequests: number
  /** Downloads and event streams at a time. */
  maxStreams: number
  /** Of these, how many for one account. */
  maxStreamsPerAccount: number
  /** How long a client may take to send a request, or to take any of the next bytes of a stream. */
  clientTimeoutMs: number
}

export interface Admission {
  /** The server that fastify listens with. */
  server(listener: RequestListener): Server
  /**
   * Counts a request as one whose body is still being sent, until the result is disposed of: it does not keep others out
   * meanwhile. Refuses it if the caller, or all together, send too many.
   */
  receive(caller: string): Disposable
  /** Lets a response go on for as long as its client takes what there is to take, or refuses it. */
  stream(response: ServerResponse, accountId: number): void
  /** How many requests were answered 503. */
  shed(): number
}

const KEEP_ALIVE_MS = 72_000
const NEVER_SHED = new Set(['/healthz', '/readyz', '/metrics'])

/**
 * What is more than can be done soon is turned away at the door, in a few microseconds, rather than kept waiting in memory.
 * This stands before fastify: hooks would cost every request many times as much.
 */
export function createAdmission(options: AdmissionOptions, documentation: string): Admission {
  const { maxConnections, maxRequests, clientTimeoutMs } = options
  const { maxStreams, maxStreamsPerAccount } = options
  const streams = new Tally()
  const bodies = new Tally()
  const maxBodiesPerCaller = Math.ceil(maxRequests / 10)
  const unread = new Map<ServerResponse, string>()
  const refusal = refusalAsBytes(documentation)
  let requests = 0
  let shed = 0

  // Called once by every response: one function for all, and none around it.
  function leave(this: ServerResponse) {
    requests--
    unread.delete(this)
  }

  /**
   * Ends responses of which the client has read nothing since the last call. Slow is not stalled: any piece read counts, and
   * nothing need be read where nothing waits. What the client sends does not count, though the socket's own timeout would take
   * it for a sign of life.
   */
  function endStalled(): void {
    for (const [response, last] of unread) {
      const { bytesWritten = 0, writableLength = 0 } = response.socket ?? {}
      const now = `${bytesWritten} ${writableLength}`
      if (writableLength > 0 && now === last) response.destroy()
      else unread.set(response, now)
    }
  }

  function admit(listener: RequestListener, request: IncomingMessage, response: ServerResponse) {
    if (requests - streams.total() >= maxRequests && !NEVER_SHED.has(request.url!)) {
      shed++
      response.writeHead(503, refusal.headers).end(refusal.body)
      return
    }
    requests++
    unread.set(response, '')
    response.on('close', leave)
    listener(request, response)
  }

  return {
    server(listener) {
      const server = http.createServer(
        {
          headersTimeout: clientTimeoutMs,
          requestTimeout: clientTimeoutMs,
          connectionsCheckingInterval: Math.min(clientTimeoutMs / 4, 30_000),
          keepAliveTimeout: KEEP_ALIVE_MS,
        },
        (request, response) => admit(listener, request, response),
      )
      server.maxConnections = maxConnections
      const watch = setInterval(endStalled, clientTimeoutMs).unref()
      server.once('close', () => clearInterval(watch))
      return server
    },

    receive(caller) {
      if (bodies.of(caller) >= maxBodiesPerCaller) throw tooManyRequests()
      if (bodies.total() >= maxRequests) {
        shed++
        throw busy()
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

    stream(response, accountId) {
      const account = String(accountId)
      if (streams.of(account) >= maxStreamsPerAccount) throw tooManyStreams()
      if (streams.total() >= maxStreams) {
        shed++
        throw busy()
      }
      streams.add(account, 1)
      response.once('close', () => streams.add(account, -1))
    },

    shed: () => shed,
  }
}

function refusalAsBytes(documentation: string) {
  const { status, message } = busy()
  const text = { message, documentation_url: documentation, status: String(status) }
  const body = Buffer.from(JSON.stringify(text))
  const headers = {
    // Or a page in a browser would see no answer at all.
    'access-control-allow-origin': '*',
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    'retry-after': '1',
  }
  return { headers, body }
}
