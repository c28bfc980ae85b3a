import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import { findAccountsById } from '../../../accounts/account-store.ts'
import { tokensManagedUntil } from '../../../accounts/own-tokens.ts'
import {
  closeSession,
  closeSessionsOf,
  findSession,
  openSession,
} from '../../../accounts/session-store.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import { EXTENSION, enumOf, string } from '../../../wire/schema.ts'
import type * as wire from '../../../wire/types.ts'
import * as openapi from '../../description/operation.ts'
import {
  type FailedLogins,
  isFromOwnPage,
  type SessionCookies,
} from '../../middleware/authenticate.ts'
import { sessionsOnlyForPages, tokenIsReadOnly } from '../../middleware/http-errors.ts'
import { sendJson } from '../../middleware/json-response.ts'
import { utcTimestampOrNull } from '../../rendering.ts'
import type { ServerParts } from '../../server-parts.ts'
import { currentUserJson } from '../users/user-json.ts'

const sessionHeader = {
  name: 'x-godwit-session',
  in: 'header',
  required: true,
  description: 'Any value. Sent by the pages of this server; without it the cookie is ignored.',
  schema: string,
  example: '1',
}
const description = `For the pages of this server: a cookie that scripts cannot read replaces the token. ${EXTENSION}`

const getSession = {
  operationId: 'session/get',
  tags: ['Caller'],
  summary: 'Get the account that is signed in with this browser',
  description,
  security: [],
  parameters: [sessionHeader],
  responses: { 200: openapi.recordResponse('The session.', 'session') },
} satisfies openapi.Operation

const postSession = {
  operationId: 'session/open',
  tags: ['Caller'],
  summary: 'Sign in with a browser',
  description,
  security: [],
  parameters: [sessionHeader],
  body: {
    type: 'object',
    required: ['token'],
    properties: { token: { ...string, description: 'An access token.' } },
    examples: [{ token: 'gwt_…' }],
  },
  responses: {
    201: openapi.recordResponse('Signed in. The cookie is in `set-cookie`.', 'session'),
    401: openapi.errorResponse('unauthenticated'),
    403: openapi.errorResponse('forbidden'),
    422: openapi.errorResponse('invalid'),
  },
} satisfies openapi.Operation

const deleteSession = {
  operationId: 'session/close',
  tags: ['Caller'],
  summary: 'Sign out with a browser',
  description,
  security: [],
  parameters: [
    sessionHeader,
    openapi.inQuery('all', enumOf(['true']), 'Signs out all browsers of the account.'),
  ],
  responses: { 204: { description: 'Signed out.' }, 403: openapi.errorResponse('forbidden') },
} satisfies openapi.Operation

interface SessionParts
  extends Pick<ServerParts, 'db' | 'now' | 'log' | 'authenticator' | 'rendering' | 'sessionTtlMs'> {
  cookies: SessionCookies
  logins: FailedLogins
}

const SESSION_HEADERS = {
  'cache-control': 'no-store',
  vary: 'Cookie',
  'x-content-type-options': 'nosniff',
}

/** Adds sign-in and sign-out for browsers, which get a cookie that scripts cannot read instead of the token. */
export function addSessionRoutes(app: FastifyInstance, parts: SessionParts): void {
  const { db, now, log, authenticator, rendering, sessionTtlMs: ttlMs, cookies } = parts

  async function sessionJson(viewer: Viewer | undefined): Promise<wire.Session> {
    if (!viewer) return { user: null }
    const { account, organizationId } = viewer
    const found = organizationId !== undefined && (await findAccountsById(db, [organizationId]))
    return {
      user: currentUserJson(account, await countPublic(db, account), rendering.addresses),
      organization: found ? [...found.values()][0]!.login : null,
      tokens_managed_until: utcTimestampOrNull(await tokensManagedUntil(db, viewer)),
    }
  }

  const logAction = (request: FastifyRequest, action: string, { account, tokenId }: Viewer) =>
    log.info(
      { audit: action, id: request.id, login: account.login, tokenId, from: request.ip },
      action,
    )

  app.get('/session', { schema: getSession }, async (request, reply) => {
    reply.headers(SESSION_HEADERS)
    const viewer = await authenticator.viewerInSession(cookies.read(request), request.ip)
    return sendJson(reply, await sessionJson(viewer))
  })

  app.post<{ Body: { token: string } }>(
    '/session',
    { schema: postSession },
    async (request, reply) => {
      reply.headers(SESSION_HEADERS)
      if (!isFromOwnPage(request)) throw sessionsOnlyForPages()
      const { token } = request.body
      const viewer = await parts.logins.viewerOf(token, request.ip)
      cookies.set(
        reply,
        request,
        await openSession(db, { ...viewer, token }, { now: now(), ttlMs }),
      )
      logAction(request, 'session.open', viewer)
      const session = { openedAt: now() }
      return sendJson(reply.code(201), await sessionJson({ ...viewer, session }))
    },
  )

  app.delete<{ Querystring: { all?: string } }>(
    '/session',
    { schema: deleteSession },
    async (request, reply) => {
      reply.headers(SESSION_HEADERS)
      if (!isFromOwnPage(request)) throw sessionsOnlyForPages()
      const isAll = request.query.all === 'true'
      const secret = cookies.read(request)
      if (secret !== undefined) {
        // Does not verify the token with the forge, so that sign-out works while the forge is unavailable.
        const session = await findSession(db, secret, now())
        if (isAll && (session?.viewer.isReadOnly || session?.viewer.organizationId !== undefined))
          throw tokenIsReadOnly()
        if (session && isAll) await closeSessionsOf(db, session.viewer.account)
        else await closeSession(db, secret)
        if (session)
          logAction(request, isAll ? 'session.close-all' : 'session.close', session.viewer)
      }
      // The last step, so that after a failure the user is still signed in and can try again.
      cookies.clear(reply, request)
      return reply.code(204).send()
    },
  )
}
