import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { http } from '../../lib/node-http.ts'
import { CallerCounts } from './concurrency-limit.ts'
import { overloaded, tooManyRequests, tooManyStreams } from './http-errors.ts'

export interface AdmissionOptions {
  /** Connections at a time; further ones are refused. */
  maxConnections: number
  /**
   * Requests at a time, without streams and without requests whose body is still being sent; further ones get 503. Also the number
   * of bodies that may be sent at a time, a tenth of them by one account or address.
   */
  maxRequests: number
  /** Downloads and event streams at a time. */
  maxStreams: number
  /** Downloads and event streams at a time of one account. */
  maxStreamsPerAccount: number
  /** How long a client may take to send a request, or to read any of the bytes that wait for it. */
  clientTimeoutMs: number
}

export type Admission = ReturnType<typeof createAdmission>

const KEEP_ALIVE_MS = 72_000
const NEVER_SHED = new Set(['/healthz', '/readyz', '/metrics'])

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
  const response503 = overloadedResponse(documentation)
  let requests = 0
  let shed = 0

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
    if (requests - streams.total() >= maxRequests && !NEVER_SHED.has(request.url!)) {
      shed++
      response.writeHead(503, response503.headers).end(response503.body)
      return
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
        },
        (request, response) => admit(listener, request, response),
      )
      server.maxConnections = maxConnections
      const watch = setInterval(endStalled, clientTimeoutMs).unref()
      server.once('close', () => clearInterval(watch))
      return server
    },

    /**
     * Marks a request as one whose body is still being sent, until the result is disposed of. Meanwhile it does not count as a
     * running request. Throws if the caller, or all callers together, send too many bodies.
     */
    receive(caller: string): Disposable {
      if (bodies.of(caller) >= maxBodiesPerCaller) throw tooManyRequests()
      if (bodies.total() >= maxRequests) {
        shed++
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
      if (streams.of(account) >= maxStreamsPerAccount) throw tooManyStreams()
      if (streams.total() >= maxStreams) {
        shed++
        throw overloaded()
      }
      streams.add(account, 1)
      response.once('close', () => streams.add(account, -1))
    },

    /** Returns how many requests were answered 503. */
    shed: () => shed,
  }
}

function overloadedResponse(documentation: string) {
  const { status, message } = overloaded()
  const text = { message, documentation_url: documentation, status: String(status) }
  const body = Buffer.from(JSON.stringify(text))
  const headers = {
    // Without it, a page in a browser cannot read the response.
    'access-control-allow-origin': '*',
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    'retry-after': '1',
  }
  return { headers, body }
}
