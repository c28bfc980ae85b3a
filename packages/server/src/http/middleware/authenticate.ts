import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditAction } from '@godwit/contract/schemas/audit-actions'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../accounts/account.ts'
import {
  type About,
  type Actor,
  NOT_SIGNED_IN,
  recordAccess,
  viewerAsActor,
} from '../../accounts/audit-log.ts'
import type { Authenticator } from '../../accounts/authenticator.ts'
import { findHolder, isMistypedToken } from '../../accounts/token-store.ts'
import * as httpErrors from './http-errors.ts'
import { countersInMemory } from './rate-limit.ts'
import { actorOf, addressKey, requireViewer } from './request.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller, or null for an anonymous request. */
    viewer: Viewer | null
  }
}

/** Matches `Bearer TOKEN` and `token TOKEN`, in any letter case. Clients send both. */
const CREDENTIALS = /^(?:bearer|token) +(\S+) *$/i
const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i
/** With one of these passwords, the user name is the token. */
const NO_PASSWORD = new Set(['', 'x-oauth-basic'])

/**
 * Returns the token in the `authorization` header: undefined if the header is malformed or has another scheme. Basic authentication has it
 * as the password of any user, or as the user name without a password. Returns undefined if the request has no credentials, such as an
 * empty user name and password. Pages of this server never send Basic credentials: if they have some, the browser added them for a proxy.
 */
export function readCredentials(
  request: FastifyRequest,
): { token: string | undefined } | undefined {
  const { authorization } = request.headers
  if (!authorization) return undefined
  const encoded = BASIC.exec(authorization)?.[1]
  if (encoded === undefined) return { token: CREDENTIALS.exec(authorization)?.[1] }
  if (isFromOwnPage(request)) return undefined
  const [, name = '', password = ''] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  const token = NO_PASSWORD.has(password) ? name : password
  return token === '' ? undefined : { token }
}

/** Throws 403 if the token of the caller is too limited for the route. Denies routes to tokens of an organization by default. */
export function checkTokenLimits(
  { viewer, method, params }: FastifyRequest,
  { anonymous, changesNothing, forAnyToken }: FastifyContextConfig,
): void {
  const isRead = method === 'GET' || method === 'HEAD' || changesNothing
  if (viewer?.isReadOnly && !isRead) throw httpErrors.tokenIsReadOnly()
  if (viewer?.organizationId === undefined || anonymous || forAnyToken) return
  // The handlers of these routes find only the organization of the token.
  const { org, organization_id } = params as Record<string, unknown>
  if (org === undefined && organization_id === undefined) throw httpErrors.tokenOfOrganization()
}

const MAX_FAILURES = 60
const WINDOW_MS = 600_000
const DELAY_MS = 1000
/** Delayed requests count as running: without this limit they could use up all of `--max-requests`. */
const MAX_DELAYED = 50

export type FailedLogins = ReturnType<typeof failedLogins>

interface LoginDependencies extends Pick<Parameters<typeof recordAccess>[0], 'db' | 'log'> {
  authenticator: Authenticator
  now: () => number
}

/** A process records at most this many refused attempts an hour of all who are not signed in, because anybody can send them. */
const MAX_RECORDED = 1000
/**
 * A process records at most this many refused attempts an hour of one account. They do not count for the limit above, which others
 * could use up.
 */
const MAX_RECORDED_OF_ACCOUNT = 60
const HOUR_MS = 3_600_000

/**
 * Rejects bad credentials. After too many of them from one address, each further rejection is delayed. A valid token always works,
 * because many people may share an address. Each process has its own counts.
 */
export function failedLogins(dependencies: LoginDependencies) {
  const { authenticator, now } = dependencies
  const failures = countersInMemory(WINDOW_MS, now)
  const hasTooManyFailures = async (ip: string) =>
    (await failures.get(addressKey(ip))).times > MAX_FAILURES
  const tooManyLogins = (endsAt: number) =>
    httpErrors.tooManyLogins(Math.max(1, Math.ceil((endsAt - now()) / 1000)))
  let delayed = 0
  const recorded = countersInMemory(HOUR_MS, now)

  async function recordRefusal(actor: Actor, action: AuditAction, about: About): Promise<void> {
    const { times } = await recorded.add(String(actor.accountId), 1)
    const max = actor.accountId === undefined ? MAX_RECORDED : MAX_RECORDED_OF_ACCOUNT
    if (times <= max)
      await recordAccess(dependencies, actor, action, { ...about, outcome: 'refused' })
  }

  /** Waits, unless too many requests wait already. Returns whether it waited. */
  async function delay(): Promise<boolean> {
    if (delayed >= MAX_DELAYED) return false
    delayed++
    await sleep(DELAY_MS, undefined, { ref: false })
    delayed--
    return true
  }

  /** Names the account if the token is a revoked or expired one. */
  async function actorWith(token: string, ip: string): Promise<Actor> {
    const holder = token === '' ? undefined : await findHolder(dependencies.db, token)
    const who = holder ? viewerAsActor(holder) : NOT_SIGNED_IN
    return { ...who, ...(isIP(ip) && { address: ip }) }
  }

  /** Counts and records a failed login of this address, and throws. */
  async function refuse(ip: string, token = '', action: AuditAction = 'token.use'): Promise<never> {
    const { times, endsAt } = await failures.get(addressKey(ip))
    if (times <= MAX_FAILURES) {
      await failures.add(addressKey(ip), 1)
      await recordRefusal(await actorWith(token, ip), action, {})
      throw isMistypedToken(token) ? httpErrors.mistypedToken() : httpErrors.badCredentials()
    }
    await delay()
    throw tooManyLogins(endsAt)
  }

  return {
    /** Returns the owner of a token. Throws if the token is not valid. */
    async viewerOf(token: string | undefined, ip: string, action?: AuditAction): Promise<Viewer> {
      if (token === undefined) return refuse(ip, token, action)
      const mayCheckNew = async () => !(await hasTooManyFailures(ip))
      return (await authenticator.viewerOf(token, ip, mayCheckNew)) ?? refuse(ip, token, action)
    },
    refuse,
    /** Verifies a sign-in with another service, and counts it if that fails. After too many failures, it is called more slowly. */
    async verify<T>(ip: string, verify: () => Promise<T>): Promise<T> {
      const key = addressKey(ip)
      // Counted before the result is known, so that concurrent attempts count too.
      const { times, endsAt } = await failures.add(key, 1)
      if (times > MAX_FAILURES && !(await delay())) throw tooManyLogins(endsAt)
      const result = await verify()
      await failures.add(key, -1)
      return result
    },
    recordRefusal,
  }
}

/** Throws NotFound unless the caller is a site admin, and records the attempt. */
export async function requireSiteAdmin(
  { recordRefusal }: FailedLogins,
  request: FastifyRequest,
): Promise<void> {
  if (requireViewer(request).account.siteAdmin) return
  const subject = `${request.method} ${request.routeOptions.url}`
  await recordRefusal(actorOf(request), 'admin.access', { subject })
  throw new NotFound()
}

/** A session cookie without this header is ignored. Other sites cannot send the header, because CORS preflights do not allow it. */
const SESSION_HEADER = 'x-godwit-session'

export type SessionCookies = ReturnType<typeof sessionCookies>

/** Returns functions that read, set and clear the cookies of a session and of a sign-in by another site. */
export function sessionCookies(baseUrl: string) {
  const session = cookie(baseUrl, 'godwit_session', 'SameSite=Strict')
  return {
    ...session,
    /** Returns the secret of the session; undefined without a cookie, or if no page of this server sent the request. */
    read: (request: FastifyRequest) => (isFromOwnPage(request) ? session.read(request) : undefined),
    /** Returns from another site to this one must have the cookie, so it is not `Strict`. */
    signIn: cookie(baseUrl, 'godwit_sign_in', 'SameSite=Lax; Max-Age=600'),
  }
}

/** Returns functions that read, set and clear a cookie. It is `Secure` if the base URL or the request uses TLS. */
function cookie(baseUrl: string, plainName: string, attributes: string) {
  const isBaseUrlSecure = new URL(baseUrl).protocol === 'https:'
  const isSecure = ({ protocol }: FastifyRequest) => isBaseUrlSecure || protocol === 'https'
  // Browsers accept a `__Host-` cookie only over TLS, without a domain and with the path `/`.
  const nameFor = (request: FastifyRequest) =>
    isSecure(request) ? `__Host-${plainName}` : plainName
  const set = (reply: FastifyReply, request: FastifyRequest, value: string, more = '') => {
    const secure = isSecure(request) ? '; Secure' : ''
    const text = `${nameFor(request)}=${value}; Path=/; HttpOnly; ${attributes}${secure}${more}`
    reply.header('set-cookie', text)
  }
  return {
    read(request: FastifyRequest): string | undefined {
      const cookies = (request.headers.cookie ?? '')
        .split(';')
        .map((pair) => pair.trim().split('='))
      return cookies.find(([key, value]) => key === nameFor(request) && value)?.[1]
    },
    set,
    clear: (reply: FastifyReply, request: FastifyRequest) => set(reply, request, '', '; Max-Age=0'),
  }
}

/** Returns whether a page of this server sent the request. Old browsers do not send `sec-fetch-site`. */
export function isFromOwnPage({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return headers[SESSION_HEADER] !== undefined && (site === undefined || site === 'same-origin')
}
