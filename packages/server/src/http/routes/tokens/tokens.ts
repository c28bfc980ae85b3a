import { EXTENSION, integer } from '@godwit/contract/schemas/schema'
import * as wire from '@godwit/contract/schemas/types'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import {
  createAccountToken,
  listAccountTokens,
  tokensManagedUntil,
} from '../../../accounts/account-tokens.ts'
import { inAuditedTransaction } from '../../../accounts/audit-log.ts'
import { revokeTokensOf } from '../../../accounts/token-store.ts'
import * as openapi from '../../description/operation.ts'
import { HttpError } from '../../middleware/http-errors.ts'
import { sendJson } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import { actorOf, requireId, requireViewer } from '../../middleware/request.ts'
import { tokenJson } from '../../rendering/token-json.ts'
import type { ApiDependencies } from '../../server-dependencies.ts'

const SESSION_ONLY =
  'Only for the dashboard, in a session that was opened at most 15 minutes ago: requests with a token get 403. If the user must sign in again, the response has the header `x-godwit-session: sign-in-required`.'

const tokensNeedSession = (page: string) =>
  new HttpError(403, `A token cannot create or revoke tokens. Sign in at ${page}`)
const signInAgain = () =>
  new HttpError(403, 'Sign in again to create or revoke tokens: you signed in too long ago.')
const signInWithAnother = () =>
  new HttpError(
    403,
    'You signed in with a token that you created yourself, which cannot create or revoke tokens. Sign in as you did when you created it.',
  )

const routes = openapi.routes('Caller', { config: { resource: 'Token' } })({
  'users/list-tokens': {
    summary: "List the caller's tokens",
    description: `Newest first, without the secrets and without revoked tokens. ${EXTENSION}`,
    responses: openapi.pageResponses('token', 'tokens'),
  },
  'users/create-token': {
    summary: 'Create a token',
    description: `The response has the secret, which is not shown again. An account can have up to \`--max-tokens\` valid tokens. ${SESSION_ONLY} ${EXTENSION}`,
    parameters: [openapi.parameter('session')],
    body: wire.tokenRequestSchema,
    responses: { 201: openapi.recordResponse('Created.', 'new-token') },
  },
  'users/revoke-token': {
    summary: 'Revoke a token',
    description: `Also ends the sessions that were opened with it. ${SESSION_ONLY} ${EXTENSION}`,
    parameters: [openapi.inPath('token_id', integer, 7), openapi.parameter('session')],
    responses: { 204: openapi.DONE },
  },
  'users/revoke-tokens': {
    summary: "Revoke all of the caller's tokens",
    description: `This includes tokens that an operator created, and the one that the caller signed in with. ${SESSION_ONLY} ${EXTENSION}`,
    parameters: [openapi.parameter('session')],
    responses: { 204: openapi.DONE },
  },
})

export function addTokenRoutes(app: FastifyInstance, dependencies: ApiDependencies): void {
  const { db, now, rendering, maxTokens } = dependencies
  const { addresses } = rendering

  app.get('/user/tokens', routes['users/list-tokens'], async (request, reply) => {
    const viewer = requireViewer(request)
    const all = await listAccountTokens(db, viewer.account)
    return sendPageOf(reply, addresses, all, (each) => tokenJson(each, viewer))
  })

  /** Returns the caller. Throws 403 unless they signed in a short time ago. */
  async function requireRecentSession(reply: FastifyReply): Promise<Viewer> {
    const viewer = requireViewer(reply.request)
    if (!viewer.session) throw tokensNeedSession(`${addresses.under('').api}/#/tokens`)
    const until = await tokensManagedUntil(db, viewer)
    if (until !== null && until > now()) return viewer
    reply.header('x-godwit-session', 'sign-in-required')
    throw until === null ? signInWithAnother() : signInAgain()
  }

  type Create = { Body: wire.TokenRequest }
  app.post<Create>('/user/tokens', routes['users/create-token'], async (request, reply) => {
    const viewer = await requireRecentSession(reply)
    const { name, expires_in_days: days, organization = null } = request.body
    const { read_only: isReadOnly = false } = request.body
    const wanted = { name: name.trim(), days, isReadOnly, organization }
    const created = await inAuditedTransaction(
      dependencies,
      actorOf(request),
      async (tx, record) => {
        const token = await createAccountToken(tx, viewer, wanted, { max: maxTokens, now: now() })
        const { id, isReadOnly: readOnly } = token
        const details = { created: id, name: token.name, readOnly, organization }
        await record(tx, 'token.create', { subject: `token ${id}`, details })
        return token
      },
    )
    const body: wire.NewToken = { ...tokenJson(created, viewer), token: created.token }
    return sendJson(reply.code(201).header('cache-control', 'no-store'), body)
  })

  async function revoke(reply: FastifyReply, id?: number) {
    const { account } = await requireRecentSession(reply)
    await inAuditedTransaction(dependencies, actorOf(reply.request), async (tx, record) => {
      const revoked = await revokeTokensOf(tx, account, { now: now(), bySelf: true, id })
      if (id !== undefined && revoked.length === 0) throw new NotFound()
      for (const each of revoked)
        await record(tx, 'token.revoke', { subject: `token ${each}`, details: { revoked: each } })
    })
    return reply.code(204).send()
  }

  type ById = { Params: { token_id: string } }
  app.delete<ById>('/user/tokens/:token_id', routes['users/revoke-token'], ({ params }, reply) =>
    revoke(reply, requireId(params.token_id)),
  )
  app.delete('/user/tokens', routes['users/revoke-tokens'], (_request, reply) => revoke(reply))
}
