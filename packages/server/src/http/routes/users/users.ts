import { isName } from '@godwit/lib/names'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../../accounts/account.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { findVisibleAccount } from '../../../repositories/visible-repository.ts'
import * as openapi from '../../description/operation.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import type { RateLimit } from '../../middleware/rate-limit.ts'
import { requireFound, requireId, requireViewer, type WithQuery } from '../../middleware/request.ts'
import { currentUserJson } from '../../rendering/user-json.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'

type InPath = WithQuery & { Params: { username: string } }
type ById = { Params: { account_id: string } }

const VISIBILITY =
  'Without a token, only owners of public repositories are visible. The response is 404 for an organization if the caller is not a member and may read none of its repositories.'

const routes = openapi.routes('Caller')({
  'users/get-by-username': {
    config: { anonymous: true },
    tags: ['Repositories'],
    summary: 'Get a person or an organization',
    description: VISIBILITY,
    responses: openapi.recordResponses('The account.', 'current-user'),
  },
  'users/get-by-id': {
    config: { anonymous: true },
    tags: ['Repositories'],
    summary: 'Get a person or an organization by ID',
    description: VISIBILITY,
    responses: openapi.recordResponses('The account.', 'current-user'),
  },
  'users/get-authenticated': {
    config: { forAnyToken: true },
    summary: 'Get the current account',
    responses: openapi.recordResponses('The account of the token.', 'current-user'),
  },
  'rate-limit/get': {
    config: { uncounted: true, anonymous: true },
    summary: 'Get the rate limit',
    description:
      'Does not count against the rate limit. Without a token, that of the address. 404 if the server has no rate limit.',
    responses: {
      200: openapi.recordResponse('The rate limit.', 'rate-limit'),
      404: openapi.notFound,
    },
  },
})

/** Adds the caller, the caller's rate limit, and the targets of the `url` and the `repos_url` of every account. */
export function addUserRoutes(
  app: FastifyInstance,
  dependencies: ServerDependencies,
  limit: RateLimit,
): void {
  const { db, rendering } = dependencies

  async function sendAccount(reply: FastifyReply, account: Account) {
    const publicCount = await countPublic(db, account)
    return sendJsonWithEtag(reply, currentUserJson(account, publicCount, rendering.addresses))
  }

  /** Returns the account that the path names; throws 404 if the caller may not see it. */
  async function accountInPath({ params, viewer }: FastifyRequest<InPath>): Promise<Account> {
    const { username } = params
    if (!isName(username)) throw new NotFound()
    return requireFound(await findVisibleAccount(db, viewer, { login: username }))
  }

  app.get('/rate_limit', routes['rate-limit/get'], async (request, reply) =>
    sendJson(reply, await limit.show(request)),
  )
  app.get('/user', routes['users/get-authenticated'], async (request, reply) =>
    sendAccount(reply, requireViewer(request).account),
  )
  app.get<InPath>('/users/:username', routes['users/get-by-username'], async (request, reply) =>
    sendAccount(reply, await accountInPath(request)),
  )

  app.get<ById>('/user/:account_id', routes['users/get-by-id'], async (request, reply) => {
    const of = { id: requireId(request.params.account_id) }
    return sendAccount(reply, requireFound(await findVisibleAccount(db, request.viewer, of)))
  })
}
