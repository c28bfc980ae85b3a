import * as http from 'node:http'
import * as https from 'node:https'

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

const answerOf = (message: http.IncomingMessage): HttpAnswer => ({
  status: message.statusCode ?? 0,
  header: (name) => {
    const value = message.headers[name]
    return Array.isArray(value) ? value.join(',') : value
  },
  body: message,
  // What is short is read away, so that the connection can be used again.
  discard: () => void (isShort(message) ? message.resume() : message.destroy()),
})

const isShort = ({ headers }: http.IncomingMessage) =>
  Number(headers['content-length'] ?? Number.NaN) <= 64 * 1024
