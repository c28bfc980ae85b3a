import type { FastifyInstance } from 'fastify'
import {
  countAdministered,
  listAdministered,
} from '../../repositories/administered-repositories.ts'
import { factsForViewer } from '../../repositories/facts-for-viewer.ts'
import { viewerOf } from '../door/authenticate.ts'
import { tellPages } from '../door/link-header.ts'
import { pagingOf } from '../door/paging.ts'
import { extendedRepositoryJson } from '../migrations/github-json.ts'
import type { ServerParts } from '../server-parts.ts'
import { answerRepositories } from './answer-repositories.ts'
import { repositoryQueryOf } from './repository-query.ts'
import { listUserRepositories } from './user-repositories-operations.ts'

/** What the caller may migrate, as the catalogue has it now. */
export function userRepositories(
  app: FastifyInstance,
  { db, rendering, cloneTokens }: ServerParts,
): void {
  const { addresses } = rendering

  app.get<{ Querystring: Record<string, unknown> }>(
    '/user/repos',
    { schema: listUserRepositories },
    async (request, reply) => {
      const viewer = viewerOf(request)
      const paging = pagingOf(request.query)
      const { filter, order } = repositoryQueryOf(request.query)
      const total = await countAdministered(db, viewer, filter)
      const entries = await listAdministered(db, viewer, filter, { ...paging, order })
      tellPages(request, reply, { prefix: app.prefix, addresses, paging, total })
      reply.header('x-total-count', total)
      const facts = await factsForViewer(db, viewer, entries)
      return answerRepositories(request, reply, {
        body: facts.map((each) => extendedRepositoryJson(each, addresses)),
        shown: facts,
        tokenOf: cloneTokens.for(viewer),
        alsoMadeFrom: [total],
      })
    },
  )
}
