import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

export const EVENT_STREAM = 'text/event-stream'

/**
 * Sends the headers of an event stream and returns the response, to which the caller writes events. `x-accel-buffering` turns off
 * the buffering of nginx and compatible proxies.
 */
export function openEventStream(reply: FastifyReply): ServerResponse {
  const headers = reply
    .headers({
      'content-type': EVENT_STREAM,
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    .getHeaders()
  reply.hijack()
  return reply.raw.writeHead(200, headers as Record<string, string>)
}
