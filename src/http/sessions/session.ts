import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import { closeSession, findSession, openSession } from '../../accounts/session-store.ts'
import { countPublic } from '../../repositories/repository-store.ts'
import type * as wire from '../../wire/types.ts'
import type { FailedLogins } from '../middleware/failed-logins.ts'
import { answer } from '../middleware/json-answer.ts'
import { notOurPages } from '../middleware/refusals.ts'
import { isOfOurPages, type SessionCookies } from '../middleware/session-cookie.ts'
import { currentUserJson } from '../routes/users/user-json.ts'
import type { ServerParts } from '../server-parts.ts'
import * as operations from './session-operations.ts'

interface SessionParts
  extends Pick<ServerParts, 'db' | 'now' | 'log' | 'authenticator' | 'rendering'> {
  cookies: SessionCookies
  logins: FailedLogins
}

/** Nobody keeps it, and nobody else may read it. */
const ALWAYS = {
  'cache-control': 'no-store',
  vary: 'Cookie',
  'x-content-type-options': 'nosniff',
}

/** Signing in and out with a browser, which is given a cookie that no script can read in place of the token. */
export function session(app: FastifyInstance, parts: SessionParts): void {
  const { db, now, log, authenticator, rendering, cookies } = parts

  async function sessionJson(viewer: Viewer | undefined): Promise<wire.Session> {
    if (!viewer) return { user: null }
    const { account } = viewer
    return { user: currentUserJson(account, await countPublic(db, account), rendering.addresses) }
  }

  const tell = (request: FastifyRequest, action: string, { account, tokenId }: Viewer) =>
    log.info(
      { audit: action, id: request.id, login: account.login, tokenId, from: request.ip },
      action,
    )

  app.get('/session', { schema: operations.getSession }, async (request, reply) => {
    reply.headers(ALWAYS)
    const viewer = await authenticator.viewerInSession(cookies.read(request))
    return answer(reply, await sessionJson(viewer))
  })

  app.post<{ Body: { token: string } }>(
    '/session',
    { schema: operations.openSession },
    async (request, reply) => {
      reply.headers(ALWAYS)
      if (!isOfOurPages(request)) throw notOurPages()
      const { token } = request.body
      const viewer = await parts.logins.viewerOf(token, request.ip)
      cookies.set(reply, request, await openSession(db, { ...viewer, token }, now()))
      tell(request, 'session.open', viewer)
      return answer(reply.code(201), await sessionJson(viewer))
    },
  )

  app.delete('/session', { schema: operations.closeSession }, async (request, reply) => {
    reply.headers(ALWAYS)
    if (!isOfOurPages(request)) throw notOurPages()
    const secret = cookies.read(request)
    if (secret !== undefined) {
      // Whoever leaves may do so while the forge is away: it is not asked about the token.
      const left = await findSession(db, secret, now())
      await closeSession(db, secret)
      if (left) tell(request, 'session.close', left.viewer)
    }
    // Last: whoever could not be signed out is still signed in, and may try again.
    cookies.clear(reply, request)
    return reply.code(204).send()
  })
}
