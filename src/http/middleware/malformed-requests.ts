import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError } from 'fastify'

/**
 * What is no HTTP never reaches a route, nor fastify: the answer, in the wire's shape, is written by hand. Where a whole
 * request came before it on the same connection, that one's answer comes first, and is the last: a refusal in its place
 * would be taken for its own.
 */
export function malformedRequests(documentation: string) {
  const latest = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse }>()

  return {
    watch(server: Server): void {
      server.on('request', (request, response) => latest.set(request.socket, { request, response }))
    },

    refuse(error: ConnectionError, socket: Socket): void {
      if (error.code === 'ECONNRESET' || socket.destroyed) return
      const { request, response } = latest.get(socket) ?? {}
      if (request?.complete && !response!.writableFinished) {
        response!.once('close', () => socket.destroy())
        return
      }
      if (socket.writable) socket.write(answerTo(error.code, documentation))
      socket.destroy()
    },
  }
}

const KINDS: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Content Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
}

function answerTo(code: string, documentation: string): string {
  const [status, message] = KINDS[code] ?? [400, 'Bad Request']
  const text = JSON.stringify({ message, documentation_url: documentation, status: String(status) })
  return [
    `HTTP/1.1 ${status} ${message}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
    '',
    text,
  ].join('\r\n')
}
