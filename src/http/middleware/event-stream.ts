import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

export const EVENT_STREAM = 'text/event-stream'

/**
 * From here on the answer is written by hand, with the headers that were set so far. A proxy that gathers answers is told to
 * pass this one on as it comes (nginx, and whoever does as it does).
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
