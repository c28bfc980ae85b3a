import type { FastifyInstance } from 'fastify'
import { viewerOf } from '../../middleware/authenticate.ts'
import type { ServerParts } from '../../server-parts.ts'
import { repositoryLists } from './answer-repositories.ts'
import { repositoryQueryOf } from './repository-query.ts'
import { listUserRepositories } from './user-repositories-operations.ts'

/** What the caller may migrate, as the catalogue has it now. */
export function userRepositories(app: FastifyInstance, parts: ServerParts): void {
  const answerList = repositoryLists(parts)

  app.get<{ Querystring: Record<string, unknown> }>(
    '/user/repos',
    { schema: listUserRepositories },
    async (request, reply) => {
      const viewer = viewerOf(request)
      const { filter, order } = repositoryQueryOf(request.query)
      return answerList(request, reply, { of: viewer, seenBy: viewer, filter, order })
    },
  )
}
