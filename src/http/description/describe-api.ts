import type { FastifyInstance } from 'fastify'
import { answerNotModified } from '../door/json-answer.ts'
import type { MediaTypeOptions } from '../door/media-type.ts'
import type { Rendering } from '../migrations/github-json.ts'
import { getDescription } from '../service/service-operations.ts'
import { collectRoutes } from './collect-routes.ts'

interface DescriptionParts {
  rendering: Rendering
  mediaType: MediaTypeOptions
}

/** The API's own description. Called before any route is added, to see them all. */
export function describeApi(app: FastifyInstance, parts: DescriptionParts): void {
  const routes = collectRoutes(app)
  /** Put together when it is first asked for: most processes are never asked. */
  let described: Promise<string> | undefined
  async function describe(): Promise<string> {
    const { openApiDocument } = await import('./document.ts')
    return JSON.stringify(openApiDocument(routes, parts))
  }

  app.get('/openapi.json', { schema: getDescription }, async (request, reply) => {
    reply.headers({
      'access-control-allow-origin': '*',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    described ??= describe()
    const description = await described
    if (answerNotModified(request, reply, [description])) return reply
    return reply.type('application/json; charset=utf-8').send(description)
  })
}
