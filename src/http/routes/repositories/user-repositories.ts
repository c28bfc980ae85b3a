import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account, Reader } from '../../../accounts/account.ts'
import {
  affiliations,
  countAdministered,
  listAdministered,
  type RepositoryFilter,
  type RepositoryOrder,
} from '../../../repositories/administered-repositories.ts'
import { factsForViewer } from '../../../repositories/facts-for-viewer.ts'
import { dateTime, EXTENSION, enumOf, string } from '../../../wire/schema.ts'
import * as openapi from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, setLinkHeader } from '../../middleware/pagination.ts'
import type { ServerParts } from '../../server-parts.ts'
import { tokenInserter } from './rendered-repositories.ts'
import { extendedRepositoryJson } from './repository-json.ts'
import {
  checks,
  directions,
  repositoryQueryOf,
  repositoryTypes,
  sorts,
  visibilities,
} from './repository-query.ts'

type WithQuery = { Querystring: Record<string, unknown> }

export const listUserRepositories = {
  operationId: 'repos/list-for-authenticated-user',
  tags: ['Caller'],
  summary: 'List the repositories that the caller may migrate',
  description: 'Repositories that the caller owns or administers, in their current state.',
  parameters: [
    openapi.inQuery(
      'q',
      string,
      `Text to search for in \`owner/name\`; case is ignored. ${EXTENSION}`,
    ),
    openapi.inQuery(
      'visibility',
      enumOf(visibilities, 'all'),
      'Only repositories with this visibility.',
    ),
    openapi.inQuery(
      'affiliation',
      { ...string, default: affiliations.join() },
      "Separated by commas: `owner` for the caller's own repositories, `collaborator` for those of other users, `organization_member` for those of organizations.",
    ),
    openapi.inQuery(
      'type',
      enumOf(repositoryTypes, 'all'),
      "`member` for all except the caller's own. Cannot be used together with `visibility` or `affiliation`.",
    ),
    openapi.inQuery(
      'check',
      enumOf(checks),
      `\`failed\`: only repositories that cannot be exported, as the last sync or \`godwit check\` found. ${EXTENSION}`,
    ),
    openapi.inQuery('sort', enumOf(sorts, 'full_name'), 'Field to sort by.'),
    openapi.inQuery(
      'direction',
      enumOf(directions),
      'The default is `asc` for `full_name`, otherwise `desc`.',
    ),
    openapi.inQuery('since', dateTime, 'Only repositories updated after this time.'),
    openapi.inQuery('before', dateTime, 'Only repositories updated before this time.'),
    ...openapi.PAGE_PARAMETERS,
  ],
  responses: {
    ...openapi.pageResponses('extended-repository', 'own-repositories', 'x-total-count'),
    422: openapi.errorResponse('invalid-query'),
  },
} satisfies openapi.Operation

/** The `q` of lists of one owner. */
export const searchInNames = openapi.inQuery(
  'q',
  string,
  `Text to search for in the name; case is ignored. ${EXTENSION}`,
)

export function addUserRepositoriesRoute(app: FastifyInstance, parts: ServerParts): void {
  app.get<WithQuery>('/user/repos', { schema: listUserRepositories }, async (request, reply) => {
    const viewer = requireViewer(request)
    const query = repositoryQueryOf(request.query)
    return sendRepositoryList(parts, request, reply, { of: viewer, seenBy: viewer, ...query })
  })
}

interface RepositoryList {
  /** The account that owns or administers the repositories. */
  of: { account: Account }
  /** The account whose permissions are shown. */
  seenBy: Reader
  filter: RepositoryFilter
  order: RepositoryOrder
}

/** Sends one page of the repositories that an account owns or administers, with clone tokens for a caller with a token. */
export async function sendRepositoryList(
  { db, rendering, cloneTokens }: Pick<ServerParts, 'db' | 'rendering' | 'cloneTokens'>,
  request: FastifyRequest<WithQuery>,
  reply: FastifyReply,
  { of, seenBy, filter, order }: RepositoryList,
): Promise<FastifyReply> {
  const { addresses } = rendering
  const { viewer } = request
  const paging = parsePaging(request.query)
  const total = await countAdministered(db, of, filter)
  const entries = await listAdministered(db, of, filter, { ...paging, order })
  setLinkHeader(request, reply, { addresses, paging, total })
  reply.header('x-total-count', total)
  const repositories = await factsForViewer(db, seenBy, entries)
  const body = repositories.map((each) => extendedRepositoryJson(each, addresses))
  return sendJsonWithEtag(request, reply, body, {
    extraEtagParts: [total],
    insertCredentials: tokenInserter(repositories, viewer ? cloneTokens.for(viewer) : undefined),
  })
}
