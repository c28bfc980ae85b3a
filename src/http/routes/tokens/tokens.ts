import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import { inAuditedTransaction } from '../../../accounts/audit-log.ts'
import { createOwnToken, listOwnTokens, tokensManagedUntil } from '../../../accounts/own-tokens.ts'
import { revokeTokensOf } from '../../../accounts/token-store.ts'
import { NotFound } from '../../../migrations/errors.ts'
import { EXTENSION, integer } from '../../../wire/schema.ts'
import { tokenRequestSchema } from '../../../wire/token.ts'
import type * as wire from '../../../wire/types.ts'
import * as openapi from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { signInAgain, signInWithAnother, tokensNeedSession } from '../../middleware/http-errors.ts'
import { sendJson } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import { requireId } from '../../middleware/path-parameters.ts'
import { actorOf } from '../../middleware/request-log.ts'
import type { ApiParts } from '../../server-parts.ts'
import { tokenJson } from './token-json.ts'

const config = { resource: 'Token' } as const
const SESSION_ONLY =
  'Only for the dashboard, in a session that was opened at most 15 minutes ago: requests with a token get 403. If the user must sign in again, the response has the header `x-godwit-session: sign-in-required`.'

const docs = openapi.operations('Caller', {
  'users/list-tokens': {
    summary: "List the caller's tokens",
    description: `Newest first, without the secrets and without revoked tokens. ${EXTENSION}`,
    parameters: openapi.PAGE_PARAMETERS,
    responses: openapi.pageResponses('token', 'tokens'),
  },
  'users/create-token': {
    summary: 'Create a token',
    description: `The response has the secret, which is not shown again. An account can have up to \`--max-tokens\` valid tokens. ${SESSION_ONLY} ${EXTENSION}`,
    body: tokenRequestSchema,
    responses: { 201: openapi.recordResponse('Created.', 'new-token') },
  },
  'users/revoke-token': {
    summary: 'Revoke a token',
    description: `Also ends the sessions that were opened with it. ${SESSION_ONLY} ${EXTENSION}`,
    parameters: [openapi.inPath('token_id', integer, 7)],
    responses: { 204: openapi.DONE },
  },
  'users/revoke-tokens': {
    summary: "Revoke all of the caller's tokens",
    description: `This includes tokens that an operator created, and the one that the caller signed in with. ${SESSION_ONLY} ${EXTENSION}`,
    responses: { 204: openapi.DONE },
  },
})

/** Adds the routes for the caller's own tokens. */
export function addTokenRoutes(app: FastifyInstance, parts: ApiParts): void {
  const { db, now, rendering, maxTokens } = parts
  const { addresses } = rendering

  app.get<{ Querystring: Record<string, unknown> }>(
    '/user/tokens',
    { config, schema: docs['users/list-tokens'] },
    async (request, reply) => {
      const viewer = requireViewer(request)
      const all = await listOwnTokens(db, viewer.account)
      return sendPageOf(request, reply, addresses, all, (each) => tokenJson(each, viewer))
    },
  )

  /** Returns the caller. Throws 403 unless they signed in a short time ago. */
  async function requireRecentSession(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Viewer> {
    const viewer = requireViewer(request)
    if (!viewer.session) throw tokensNeedSession(`${addresses.under('').api}/#/tokens`)
    const until = await tokensManagedUntil(db, viewer)
    if (until !== null && until > now()) return viewer
    reply.header('x-godwit-session', 'sign-in-required')
    throw until === null ? signInWithAnother() : signInAgain()
  }

  app.post<{ Body: wire.TokenRequest }>(
    '/user/tokens',
    { config, schema: docs['users/create-token'] },
    async (request, reply) => {
      const viewer = await requireRecentSession(request, reply)
      const { name, expires_in_days, read_only = false, organization = null } = request.body
      const wanted = {
        name: name.trim(),
        days: expires_in_days,
        isReadOnly: read_only,
        organization,
      }
      const created = await inAuditedTransaction(parts, actorOf(request), async (tx, record) => {
        const token = await createOwnToken(tx, viewer, wanted, { max: maxTokens, now: now() })
        const { id, isReadOnly: readOnly } = token
        const details = { created: id, name: token.name, readOnly, organization }
        await record(tx, 'token.create', { subject: `token ${id}`, details })
        return token
      })
      const body: wire.NewToken = { ...tokenJson(created, viewer), token: created.token }
      return sendJson(reply.code(201).header('cache-control', 'no-store'), body)
    },
  )

  async function revoke(request: FastifyRequest, reply: FastifyReply, id?: number) {
    const { account } = await requireRecentSession(request, reply)
    await inAuditedTransaction(parts, actorOf(request), async (tx, record) => {
      const revoked = await revokeTokensOf(tx, account, { now: now(), bySelf: true, id })
      if (id !== undefined && revoked.length === 0) throw new NotFound()
      for (const each of revoked)
        await record(tx, 'token.revoke', { subject: `token ${each}`, details: { revoked: each } })
    })
    return reply.code(204).send()
  }

  app.delete<{ Params: { token_id: string } }>(
    '/user/tokens/:token_id',
    { config, schema: docs['users/revoke-token'] },
    (request, reply) => revoke(request, reply, requireId(request.params.token_id)),
  )
  app.delete('/user/tokens', { config, schema: docs['users/revoke-tokens'] }, (request, reply) =>
    revoke(request, reply),
  )
}
