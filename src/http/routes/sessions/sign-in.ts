import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import { accountOfIdentity, type Identity, type Refusal } from '../../../accounts/identity-store.ts'
import { openSessionWithoutToken } from '../../../accounts/session-store.ts'
import { ignoreRemoval, STORED } from '../../../repositories/refresh-rights.ts'
import type { SessionCookies } from '../../middleware/authenticate.ts'
import { auditAction } from '../../middleware/request-log.ts'
import type { ServerParts } from '../../server-parts.ts'
import { SignInFailed } from './oidc-client.ts'

export interface SignInParts
  extends Pick<
    ServerParts,
    'db' | 'now' | 'log' | 'rights' | 'rendering' | 'sessionTtlMs' | 'mayCreateAccounts'
  > {
  cookies: SessionCookies
}

const REASONS: Record<Refusal, string> = {
  unknown: 'nobody with this login owns or may read a repository here',
  taken: 'the account with this login is bound to another identity',
  organization: 'this login belongs to an organization',
  'site-admin':
    'this login belongs to a site admin who has never signed in this way: remove the right, sign in, and grant it again',
}

/** Opens a session for an identity that was verified, and sets its cookie. Throws SignInFailed. */
export async function signInAs(
  parts: SignInParts,
  identity: Identity,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Viewer> {
  const { db, now, log, rights, cookies, sessionTtlMs: ttlMs, mayCreateAccounts } = parts
  const options = { mayCreate: mayCreateAccounts, now: now() }
  const found = await accountOfIdentity(db, identity, options)
  const { issuer, subject, login } = identity
  if ('refusal' in found) {
    const reason = REASONS[found.refusal]
    log.warn({ issuer, subject, login, from: request.ip }, `${login} cannot sign in: ${reason}`)
    throw new SignInFailed(found.refusal, reason)
  }
  const { account, isFirstSignIn } = found
  // A removed account is rejected later, by its first request that needs rights.
  await rights?.refresh(account, STORED).catch(ignoreRemoval)
  const { secret, tokenId } = await openSessionWithoutToken(db, account, { now: now(), ttlMs })
  cookies.set(reply, request, secret)
  request.viewer = { account, tokenId, session: { openedAt: now() } }
  if (isFirstSignIn) auditAction(log, request, 'identity.bind', { issuer, subject })
  auditAction(log, request, 'session.open', { issuer })
  return request.viewer
}
