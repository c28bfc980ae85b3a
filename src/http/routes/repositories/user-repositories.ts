import type { FastifyInstance } from 'fastify'
import { affiliations } from '../../../repositories/administered-repositories.ts'
import { dateTime, EXTENSION, enumOf, string } from '../../../wire/schema.ts'
import type { Operation } from '../../description/operation.ts'
import {
  errorResponse,
  inQuery,
  PAGE_PARAMETERS,
  pageResponses,
} from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import type { ServerParts } from '../../server-parts.ts'
import { answerRepositoryList } from './answer-repositories.ts'
import {
  directions,
  repositoryQueryOf,
  repositoryTypes,
  sorts,
  visibilities,
} from './repository-query.ts'

export const listUserRepositories = {
  operationId: 'repos/list-for-authenticated-user',
  tags: ['Caller'],
  summary: 'List the repositories that the caller may migrate',
  description: 'Repositories that the caller owns or administers, in their current state.',
  parameters: [
    inQuery('q', string, `Text to search for in \`owner/name\`; case is ignored. ${EXTENSION}`),
    inQuery('visibility', enumOf(visibilities, 'all'), 'Only repositories with this visibility.'),
    inQuery(
      'affiliation',
      { ...string, default: affiliations.join() },
      "Separated by commas: `owner` for the caller's own repositories, `collaborator` for those of other users, `organization_member` for those of organizations.",
    ),
    inQuery(
      'type',
      enumOf(repositoryTypes, 'all'),
      '`member` for all except their own. Cannot be used together with `visibility` or `affiliation`.',
    ),
    inQuery('sort', enumOf(sorts, 'full_name'), 'Field to sort by.'),
    inQuery(
      'direction',
      enumOf(directions),
      'Default `asc` when sorted by `full_name`, otherwise `desc`.',
    ),
    inQuery('since', dateTime, 'Only repositories updated after this time.'),
    inQuery('before', dateTime, 'Only repositories updated before this time.'),
    ...PAGE_PARAMETERS,
  ],
  responses: {
    ...pageResponses('extended-repository', 'own-repositories', 'x-total-count'),
    422: errorResponse('invalid-query'),
  },
} satisfies Operation

export function userRepositories(app: FastifyInstance, parts: ServerParts): void {
  app.get<{ Querystring: Record<string, unknown> }>(
    '/user/repos',
    { schema: listUserRepositories },
    async (request, reply) => {
      const viewer = requireViewer(request)
      const query = repositoryQueryOf(request.query)
      return answerRepositoryList(parts, request, reply, { of: viewer, seenBy: viewer, ...query })
    },
  )
}
