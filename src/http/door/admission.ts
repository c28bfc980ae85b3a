import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { http } from '../../ground/node-http.ts'
import { busy, tooManyStreams } from './refusals.ts'

export interface AdmissionOptions {
  /** Connections at a time; more are not taken. */
  maxConnections: number
  /** Requests at a time, streams not counted; more are answered 503. */
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
  const streams = countStreams(options)
  const refusal = refusalAsBytes(documentation)
  let requests = 0
  let shed = 0

  // Told of once by every response: one function for all, and none around it.
  const leave = () => {
    requests--
  }

  function admit(listener: RequestListener, request: IncomingMessage, response: ServerResponse) {
    if (requests - streams.count() >= maxRequests && !NEVER_SHED.has(request.url!)) {
      shed++
      response.writeHead(503, refusal.headers).end(refusal.body)
      return
    }
    requests++
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
      return server
    },

    stream(response, accountId) {
      if (streams.isFullFor(accountId)) throw tooManyStreams()
      if (streams.isFull()) {
        shed++
        throw busy()
      }
      streams.add(accountId)
      const stopWatching = cutWhenStalled(response, clientTimeoutMs)
      response.once('close', () => {
        streams.remove(accountId)
        stopWatching()
      })
    },

    shed: () => shed,
  }
}

function countStreams({ maxStreams, maxStreamsPerAccount }: AdmissionOptions) {
  const ofAccount = new Map<number, number>()
  let count = 0
  return {
    count: () => count,
    isFull: () => count >= maxStreams,
    isFullFor: (accountId: number) => (ofAccount.get(accountId) ?? 0) >= maxStreamsPerAccount,
    add(accountId: number): void {
      count++
      ofAccount.set(accountId, (ofAccount.get(accountId) ?? 0) + 1)
    },
    remove(accountId: number): void {
      count--
      const left = ofAccount.get(accountId)! - 1
      if (left > 0) ofAccount.set(accountId, left)
      else ofAccount.delete(accountId)
    },
  }
}

/**
 * Slow is not stalled: any piece taken counts, and nothing need be taken where nothing waits. What the client sends does
 * not count, though the socket's own timeout would take it for a sign of life.
 */
function cutWhenStalled(response: ServerResponse, clientTimeoutMs: number): () => void {
  const socket = response.socket!
  let last = ''
  const watch = setInterval(() => {
    const { bytesWritten, writableLength } = socket
    const now = `${bytesWritten} ${writableLength}`
    if (writableLength > 0 && now === last) response.destroy()
    last = now
  }, clientTimeoutMs)
  watch.unref()
  return () => clearInterval(watch)
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
