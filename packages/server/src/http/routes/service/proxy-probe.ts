import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ArchiveLinks } from '../../credentials/archive-links.ts'
import { byteRange } from '../../middleware/byte-ranges.ts'
import { openEventStream } from '../../middleware/response-stream.ts'

/** Replaces the guid of an archive in the signature. No archive has this guid. */
export const PROXY_PROBE = 'proxy-probe'
export const PROBED_TEXT = 'godwit is here'
/** The pause between the two events. A client that gets both at once is behind a proxy that buffers responses. */
const PAUSE_MS = 5000

/**
 * Adds the route that `godwit doctor` calls at the public URL, to see how proxies change requests and responses. The link is
 * signed with the key of the service, because the response shows details of the request.
 */
export function addProxyProbeRoute(
  app: FastifyInstance,
  { links, now }: { links: ArchiveLinks; now: () => number },
): void {
  app.get<{ Querystring: Record<string, unknown> }>('/proxy-probe', async (request, reply) => {
    if (!links.isValid(PROXY_PROBE, request.query, now())) throw new NotFound()
    reply.header('cache-control', 'private, no-store')
    if (request.query.part === 'stream') return sendEvents(request, reply)
    const range = byteRange(request.headers.range, PROBED_TEXT.length)
    if (!range) return reply.type('text/plain').send(PROBED_TEXT)
    const { start, end } = range
    return reply
      .code(206)
      .type('text/plain')
      .header('content-range', `bytes ${start}-${end - 1}/${PROBED_TEXT.length}`)
      .send(PROBED_TEXT.slice(start, end))
  })
}

function sendEvents(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { headers, ip, ips, socket } = request
  const seen = {
    peer: socket.remoteAddress ?? '',
    client: ip,
    forwarded_for: headers['x-forwarded-for'] ?? null,
    is_trusted: ips !== undefined && ips.length > 1,
  }
  const events = openEventStream(reply)
  events.write(`event: seen\ndata: ${JSON.stringify(seen)}\n\n`)
  const timeout = setTimeout(() => events.end('event: end\ndata: {}\n\n'), PAUSE_MS)
  events.on('close', () => clearTimeout(timeout))
  return reply
}
