import { EXTENSION, enumOf, string } from '@godwit/contract/schemas/schema'
import type * as wire from '@godwit/contract/schemas/types'
import { invalidNameReason } from '@godwit/lib/names'
import { createNetworkFilter } from '@godwit/lib/outgoing-requests/address-filter'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nameKey, type Viewer } from '../../../accounts/account.ts'
import { findAccountsById } from '../../../accounts/account-store.ts'
import { tokensManagedUntil } from '../../../accounts/account-tokens.ts'
import { inAuditedTransaction } from '../../../accounts/audit-log.ts'
import * as sessionStore from '../../../accounts/session-store.ts'
import { digestOf } from '../../../accounts/token-store.ts'
import { countPublic } from '../../../repositories/repository-store.ts'
import * as openapi from '../../description/operation.ts'
import { isFromOwnPage } from '../../middleware/authenticate.ts'
import * as httpErrors from '../../middleware/http-errors.ts'
import { sendJson } from '../../middleware/json-response.ts'
import { actorOf, type WithQuery } from '../../middleware/request.ts'
import { utcTimestampOrNull } from '../../rendering/rendering.ts'
import { currentUserJson } from '../../rendering/user-json.ts'
import { SignInFailed } from './oidc-client.ts'
import { recordIfRefused, type SignInDependencies, signInAs } from './sign-in.ts'

const parameters = [openapi.parameter('session')]
const description = `For the pages of this server: a cookie that scripts cannot read replaces the token. ${EXTENSION}`

const routes = openapi.routes('Caller', { security: [], description, parameters })({
  'session/get': {
    summary: 'Get the account that is signed in with this browser',
    responses: {
      200: openapi.recordResponse('The session.', 'session'),
      403: openapi.errorResponse('forbidden'),
    },
  },
  'session/open': {
    summary: 'Sign in with a browser',
    config: { resource: 'Token', worksOnFullDisk: true },
    body: {
      type: 'object',
      required: ['token'],
      properties: { token: string.describe('An access token.') },
      examples: [{ token: 'gwt_…' }],
    },
    responses: {
      201: openapi.recordResponse(
        'Signed in. The cookie is in `set-cookie`.',
        'session',
        ...openapi.RATE_LIMIT_HEADERS,
      ),
      401: openapi.errorResponse('unauthenticated'),
      403: openapi.errorResponse('forbidden'),
    },
  },
  'session/close': {
    summary: 'Sign out with a browser',
    query: { all: enumOf(['true']).describe('Signs out all browsers of the account.') },
    responses: { 204: { description: 'Signed out.' }, 403: openapi.errorResponse('forbidden') },
  },
})

const SESSION_HEADERS = {
  'cache-control': 'no-store',
  vary: 'Cookie',
  'x-content-type-options': 'nosniff',
}

/** Adds sign-in and sign-out for browsers, which get a cookie that scripts cannot read instead of the token. */
export function addSessionRoutes(app: FastifyInstance, dependencies: SignInDependencies): void {
  const { db, now, authenticator, rendering, sessionTtlMs: ttlMs, cookies } = dependencies

  async function sessionJson(viewer: Viewer | undefined): Promise<wire.Session> {
    if (!viewer) return { user: null }
    const { account, organizationId } = viewer
    const ids = organizationId === undefined ? [] : [organizationId]
    const [organization] = (await findAccountsById(db, ids)).values()
    return {
      user: currentUserJson(account, await countPublic(db, account), rendering.addresses),
      organization: organization?.login ?? null,
      tokens_managed_until: utcTimestampOrNull(await tokensManagedUntil(db, viewer)),
    }
  }

  const proxyUserOf = createProxyUserReader(dependencies)

  /** Signs in the person whom the proxy has authenticated, in place of anybody who was signed in before. */
  async function signInByProxy(request: FastifyRequest, reply: FastifyReply, login: string) {
    const before = cookies.read(request)
    const subject = nameKey(login)
    const identity = { issuer: `header:${dependencies.userHeader}`, subject, login }
    try {
      const invalid = invalidNameReason(login)
      const viewer = await recordIfRefused(dependencies, request, async () => {
        if (invalid)
          throw new SignInFailed('no-login', invalid, { issuer: identity.issuer, as: login })
        return signInAs(dependencies, identity, request, reply)
      })
      if (before !== undefined) await sessionStore.closeSession(db, before)
      return viewer
    } catch (error) {
      if (!(error instanceof SignInFailed)) throw error
      const message = `The proxy has signed you in as ${login}, but ${error.message}.`
      throw new httpErrors.HttpError(403, message)
    }
  }

  app.get('/session', routes['session/get'], async (request, reply) => {
    reply.headers(SESSION_HEADERS)
    const viewer = await authenticator.viewerInSession(cookies.read(request), request.ip)
    const login = proxyUserOf(request)
    const isOther = login !== undefined && nameKey(login) !== nameKey(viewer?.account.login ?? '')
    const current = isOther ? await signInByProxy(request, reply, login) : viewer
    return sendJson(reply, await sessionJson(current))
  })

  type Open = { Body: { token: string } }
  const openOptions = {
    ...routes['session/open'],
    // Set before the body is validated, so that the error of an invalid one has them too.
    onRequest: async (_request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(SESSION_HEADERS)
    },
  }
  app.post<Open>('/session', openOptions, async (request, reply) => {
    if (!isFromOwnPage(request)) throw httpErrors.sessionsOnlyForPages()
    const { token } = request.body
    const viewer = await dependencies.logins.viewerOf(token, request.ip, 'session.open')
    request.viewer = viewer
    await dependencies.limit.count(request, reply)
    const secret = await inAuditedTransaction(
      dependencies,
      actorOf(request),
      async (tx, record) => {
        await record(tx, 'session.open')
        return sessionStore.openSession(tx, { ...viewer, token }, { now: now(), ttlMs })
      },
    )
    cookies.set(reply, request, secret)
    const session = { openedAt: now(), digest: digestOf(secret) }
    return sendJson(reply.code(201), await sessionJson({ ...viewer, session }))
  })

  app.delete<WithQuery>('/session', routes['session/close'], async (request, reply) => {
    reply.headers(SESSION_HEADERS)
    if (!isFromOwnPage(request)) throw httpErrors.sessionsOnlyForPages()
    const isAll = request.query.all === 'true'
    const secret = cookies.read(request)
    if (secret !== undefined) {
      // Does not verify the token with the forge, so that sign-out works while the forge is unavailable.
      const session = await sessionStore.findSession(db, secret, now())
      if (isAll && session?.viewer.isReadOnly) throw httpErrors.tokenIsReadOnly()
      if (isAll && session?.viewer.organizationId !== undefined)
        throw httpErrors.tokenOfOrganization()
      request.viewer = session?.viewer ?? null
      await inAuditedTransaction(dependencies, actorOf(request), async (tx, record) => {
        if (session) await record(tx, isAll ? 'session.close-all' : 'session.close')
        if (session && isAll) await sessionStore.closeSessionsOf(tx, session.viewer.account)
        else await sessionStore.closeSession(tx, secret)
      })
    }
    // The last step, so that after a failure the user is still signed in and can try again.
    cookies.clear(reply, request)
    return reply.code(204).send()
  })
}

const WARNING_INTERVAL_MS = 60_000

/**
 * Returns a function that reads the person whom the proxy has authenticated from the header of `--user-header`. The header is ignored
 * unless a trusted proxy sent it for a page of this server: everybody else can send it too.
 */
function createProxyUserReader({ userHeader, trustedProxies, log, now }: SignInDependencies) {
  const isTrusted = createNetworkFilter(trustedProxies)
  let warnedAt = Number.NEGATIVE_INFINITY

  return (request: FastifyRequest): string | undefined => {
    const login = userHeader === undefined ? undefined : request.headers[userHeader]
    if (typeof login !== 'string' || login === '') return undefined
    const { remoteAddress: address } = request.socket
    if (address !== undefined && isTrusted(address))
      return isFromOwnPage(request) ? login : undefined
    if (Math.abs(now() - warnedAt) >= WARNING_INTERVAL_MS) {
      warnedAt = now()
      log.warn({ address }, `${userHeader} from an untrusted address was ignored`)
    }
    return undefined
  }
}
