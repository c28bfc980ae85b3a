import type { FastifyInstance } from 'fastify'
import { answerIfChanged } from '../middleware/json-answer.ts'
import type { ServerParts } from '../server-parts.ts'
import { getMeta } from './service-operations.ts'

/** Clients ask it to learn whether this is an Enterprise Server, and of which version. No token is asked for. */
export function meta(
  app: FastifyInstance,
  { installedVersion }: Pick<ServerParts, 'installedVersion'>,
): void {
  const body = {
    verifiable_password_authentication: false,
    ...(installedVersion !== undefined && { installed_version: installedVersion }),
  }
  for (const [path, schema] of Object.entries({ '/meta': getMeta, '/api/v3/meta': {} })) {
    app.get(path, { schema }, async (request, reply) => {
      reply.headers({
        'access-control-allow-origin': '*',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      })
      return answerIfChanged(request, reply, body)
    })
  }
}
