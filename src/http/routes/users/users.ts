import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Account } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import { isName } from '../../../lib/names.ts'
import { InvalidRequest } from '../../../migrations/errors.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { findVisibleAccount, viewOf } from '../../../repositories/visible-repository.ts'
import { enumOf } from '../../../wire/schema.ts'
import * as openapi from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { requireFound } from '../../middleware/path-parameters.ts'
import type { RateLimit } from '../../middleware/rate-limit.ts'
import type { ServerParts } from '../../server-parts.ts'
import {
  LIST_PARAMETERS,
  LIST_RESPONSES,
  repositoryQueryOf,
  searchInNames,
  searchNamesOnly,
  sendRepositoryList,
  sortParameter,
  visibilityParameter,
} from '../repositories/repository-list.ts'
import { currentUserJson } from './user-json.ts'

type Parts = Pick<ServerParts, 'db' | 'rendering'>
type InPath = { Params: { username: string } }

const docs = openapi.operations('Caller', {
  'users/get-by-username': {
    tags: ['Repositories'],
    summary: 'Get a person or an organization',
    description:
      'Without a token, only owners of public repositories are visible. The response is 404 for an organization if the caller is not a member and may read none of its repositories.',
    security: openapi.OPTIONAL_TOKEN,
    responses: openapi.recordResponses('The account.', 'current-user'),
  },
  'repos/list-for-user': {
    tags: ['Repositories'],
    summary: 'List the repositories of a person or an organization',
    description:
      'Those that the caller may read; without a token, the public ones. 404 if the caller may not see the owner.',
    security: openapi.OPTIONAL_TOKEN,
    parameters: [
      searchInNames,
      openapi.inQuery('type', enumOf(['all', 'owner'], 'owner'), 'Both values give the same list.'),
      visibilityParameter,
      sortParameter,
      ...LIST_PARAMETERS,
    ],
    responses: LIST_RESPONSES,
  },
  'users/get-authenticated': {
    summary: 'Get the current account',
    responses: openapi.recordResponses('The account of the token.', 'current-user'),
  },
  'rate-limit/get': {
    summary: 'Get the rate limit',
    description: 'Does not count against the rate limit.',
    responses: { 200: openapi.recordResponse('The rate limit.', 'rate-limit') },
  },
})

/** Adds the target of the `url` of every account: a person or an organization. */
export function addUserRoute(app: FastifyInstance, { db, rendering }: Parts): void {
  app.get<InPath>(
    '/users/:username',
    { config: { anonymous: true }, schema: docs['users/get-by-username'] },
    async (request, reply) => {
      const account = await accountInPath(db, request)
      const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
      return sendJsonWithEtag(request, reply, body)
    },
  )
}

/** Adds the target of the `repos_url` of every account. */
export function addOwnerRepositoriesRoute(
  app: FastifyInstance,
  parts: Parts & Pick<ServerParts, 'cloneTokens'>,
): void {
  app.get<InPath & { Querystring: Record<string, unknown> }>(
    '/users/:username/repos',
    { config: { anonymous: true }, schema: docs['repos/list-for-user'] },
    async (request, reply) => {
      const account = await accountInPath(parts.db, request)
      const { type = 'owner', ...query } = request.query
      if (type !== 'owner' && type !== 'all')
        throw new InvalidRequest([{ resource: 'Repository', field: 'type', code: 'invalid' }])
      const { filter, order } = repositoryQueryOf(query)
      const seenBy = await viewOf(parts.db, request.viewer, account)
      return sendRepositoryList(parts, request, reply, {
        of: { account },
        seenBy,
        filter: {
          ...searchNamesOnly(filter, account.login),
          affiliations: ['owner'],
          readableBy: seenBy.account.id,
        },
        order,
      })
    },
  )
}

/** Returns the account that the path names; throws 404 if the caller may not see it. */
async function accountInPath(
  db: Db,
  { params: { username }, viewer }: FastifyRequest<InPath>,
): Promise<Account> {
  return requireFound(isName(username) ? await findVisibleAccount(db, viewer, username) : undefined)
}

export function addCurrentUserRoute(app: FastifyInstance, { db, rendering }: Parts): void {
  app.get(
    '/user',
    { config: { forAnyToken: true }, schema: docs['users/get-authenticated'] },
    async (request, reply) => {
      const { account } = requireViewer(request)
      const body = currentUserJson(account, await countPublic(db, account), rendering.addresses)
      return sendJsonWithEtag(request, reply, body)
    },
  )
}

export function addRateLimitRoute(app: FastifyInstance, limit: RateLimit): void {
  app.get(
    '/rate_limit',
    { config: { uncounted: true, forAnyToken: true }, schema: docs['rate-limit/get'] },
    async (request, reply) => sendJson(reply, await limit.show(requireViewer(request))),
  )
}
