import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isKnown, notModified } from '../door/json-answer.ts'
import type { MediaTypeOptions } from '../door/media-type.ts'
import type { Rendering } from '../migrations/github-json.ts'
import { apiDocsPage } from './api-docs-page.ts'
import { STYLE } from './api-docs-style.ts'
import { collectRoutes } from './openapi.ts'
import { openApiDocument } from './openapi-document.ts'
import { getDescription, getDocs } from './openapi-service.ts'

/** Nothing but the page's own style: no script, no picture, no other host. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface DescriptionParts {
  rendering: Rendering
  mediaType: MediaTypeOptions
}

/** The API's own description, for programs and for people. Called before any route is added, to see them all. */
export function describeApi(app: FastifyInstance, parts: DescriptionParts): void {
  const routes = collectRoutes(app)
  let description = ''
  let page = ''
  app.addHook('onReady', async () => {
    const document = openApiDocument(routes, parts)
    description = JSON.stringify(document)
    page = apiDocsPage(document)
  })

  app.get('/openapi.json', { schema: getDescription }, async (request, reply) => {
    reply.header('access-control-allow-origin', '*')
    return send(request, reply.type('application/json; charset=utf-8'), description)
  })
  app.get('/docs', { schema: getDocs }, async (request, reply) => {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
    reply.header('referrer-policy', 'no-referrer')
    return send(request, reply.type('text/html; charset=utf-8'), page)
  })
}

function send(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  reply.headers({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
  return isKnown(request, reply, [text]) ? notModified(reply) : reply.send(text)
}
