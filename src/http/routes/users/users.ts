import type { FastifyInstance } from 'fastify'
import { isName } from '../../../lib/names.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { findVisibleAccount } from '../../../repositories/visible-repository.ts'
import * as openapi from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { requireFound } from '../../middleware/path-parameters.ts'
import type { RateLimit } from '../../middleware/rate-limit.ts'
import type { ServerParts } from '../../server-parts.ts'
import { currentUserJson } from './user-json.ts'

type Parts = Pick<ServerParts, 'db' | 'rendering'>

const getUser = {
  operationId: 'users/get-by-username',
  tags: ['Repositories'],
  summary: 'Get a person or an organization',
  description:
    'Without a token, only owners of public repositories are visible. The response is 404 for an organization if the caller is not a member and may read none of its repositories.',
  security: openapi.OPTIONAL_TOKEN,
  parameters: [openapi.parameter('username'), openapi.IF_NONE_MATCH],
  responses: { ...openapi.recordResponses('The account.', 'current-user'), 404: openapi.notFound },
} satisfies openapi.Operation

/** Adds the target of the `url` of every account: a person or an organization. */
export function addUserRoute(app: FastifyInstance, { db, rendering }: Parts): void {
  app.get<{ Params: { username: string } }>(
    '/users/:username',
    { config: { anonymous: true }, schema: getUser },
    async (request, reply) => {
      const { username } = request.params
      const account = requireFound(
        isName(username) ? await findVisibleAccount(db, request.viewer, username) : undefined,
      )
      const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
      return sendJsonWithEtag(request, reply, body)
    },
  )
}

const getCurrentUser = {
  operationId: 'users/get-authenticated',
  tags: ['Caller'],
  summary: 'Get the current account',
  parameters: [openapi.IF_NONE_MATCH],
  responses: openapi.recordResponses('The account of the token.', 'current-user'),
} satisfies openapi.Operation

export function addCurrentUserRoute(app: FastifyInstance, { db, rendering }: Parts): void {
  app.get('/user', { schema: getCurrentUser }, async (request, reply) => {
    const { account } = requireViewer(request)
    const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
    return sendJsonWithEtag(request, reply, body)
  })
}

const getRateLimit = {
  operationId: 'rate-limit/get',
  tags: ['Caller'],
  summary: 'Get the rate limit',
  description: 'Does not count against the rate limit.',
  responses: { 200: openapi.recordResponse('The rate limit.', 'rate-limit') },
} satisfies openapi.Operation

export function addRateLimitRoute(app: FastifyInstance, limit: RateLimit): void {
  app.get(
    '/rate_limit',
    { config: { uncounted: true }, schema: getRateLimit },
    async (request, reply) => sendJson(reply, await limit.show(requireViewer(request))),
  )
}
