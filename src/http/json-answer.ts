import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

export function answer(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body))
}

/**
 * Gives the answer a validator made from what it will be rendered from, and tells whether the client has it already. Asked
 * before anything dear is read. Weak: the bytes may differ in what a client does not care about.
 */
export function isKnown(
  request: FastifyRequest,
  reply: FastifyReply,
  madeFrom: readonly (string | number | boolean)[],
): boolean {
  const digest = createHash('sha256').update(JSON.stringify(madeFrom)).digest('base64url')
  const etag = `W/"${digest.slice(0, 32)}"`
  reply.header('etag', etag)
  return matches(request.headers['if-none-match'], etag)
}

export function notModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send()
}

function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const opaque = etag.slice(2)
  return header.split(',').some((sent) => {
    const tag = sent.trim()
    return tag === '*' || tag === etag || tag === opaque
  })
}
