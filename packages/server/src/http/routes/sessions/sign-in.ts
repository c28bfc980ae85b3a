import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../../accounts/account.ts'
import { inAuditedTransaction } from '../../../accounts/audit-log.ts'
import {
  accountOfIdentity,
  type Identity,
  openSessionOfIdentity,
  type Refusal,
} from '../../../accounts/identity-store.ts'
import { digestOf } from '../../../accounts/token-store.ts'
import { ignoreRemoval, RECENT_IF_AVAILABLE } from '../../../repositories/refresh-permissions.ts'
import { actorOf } from '../../middleware/request.ts'
import type { Guards, ServerDependencies } from '../../server-dependencies.ts'
import { SignInFailed } from './oidc-client.ts'

export type SignInDependencies = ServerDependencies & Guards

const REASONS: Record<Refusal, string> = {
  unknown: 'nobody with this login owns or may read a repository here',
  taken: 'the account with this login is bound to another identity',
  organization: 'this login belongs to an organization',
  'site-admin':
    'this login belongs to a site admin who has never signed in this way: run `godwit account edit LOGIN --no-site-admin`, sign in, and grant the right again with --site-admin',
}

/** Opens a session for an identity that was verified, and sets its cookie. Throws SignInFailed, or once the rate limit is exceeded. */
export async function signInAs(
  dependencies: SignInDependencies,
  identity: Identity,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Viewer> {
  const {
    now,
    log,
    permissionsRefresher,
    cookies,
    limit,
    sessionTtlMs: ttlMs,
    mayCreateAccounts,
  } = dependencies
  const { issuer, subject, login } = identity
  const found = await inAuditedTransaction(dependencies, actorOf(request), async (tx, record) => {
    const options = { mayCreate: mayCreateAccounts, now: now() }
    const result = await accountOfIdentity(tx, identity, options)
    if ('refusal' in result) return result
    const { account, isFirstSignIn, isAdminChanged } = result
    const about = { subject: `account ${account.login}`, owner: account }
    if (isFirstSignIn)
      await record(tx, 'identity.bind', { ...about, details: { issuer, identity: subject } })
    if (isAdminChanged)
      await record(tx, 'account.update', { ...about, details: { site_admin: account.siteAdmin } })
    return result
  })
  if ('refusal' in found) {
    const reason = REASONS[found.refusal].replace('LOGIN', login)
    log.warn({ issuer, subject, login, from: request.ip }, `${login} cannot sign in: ${reason}`)
    throw new SignInFailed(found.refusal, reason, { issuer, identity: subject, as: login })
  }
  const { account } = found
  await limit.count({ viewer: { account }, ip: request.ip }, reply)
  // A removed account is rejected later, by its first request that needs permissions.
  await permissionsRefresher?.refresh(account, RECENT_IF_AVAILABLE).catch(ignoreRemoval)
  const openedAt = now()
  const actor = { ...actorOf(request), login: account.login, accountId: account.id }
  const { secret, tokenId } = await inAuditedTransaction(
    dependencies,
    actor,
    async (tx, record) => {
      const opened = await openSessionOfIdentity(tx, identity, account, { now: openedAt, ttlMs })
      if (!opened)
        throw new SignInFailed('expired', 'this sign-in is no longer valid: try again', {
          ...{ issuer, identity: subject, as: login },
        })
      await record(tx, 'session.open', { details: { issuer } })
      return opened
    },
  )
  cookies.set(reply, request, secret)
  request.viewer = { account, tokenId, session: { openedAt, digest: digestOf(secret) } }
  return request.viewer
}

/** Runs a sign-in without a token, and records in the audit log if it is refused. */
export async function recordIfRefused<T>(
  { logins }: SignInDependencies,
  request: FastifyRequest,
  signIn: () => Promise<T>,
): Promise<T> {
  try {
    return await signIn()
  } catch (error) {
    if (error instanceof SignInFailed && error.problem !== 'unavailable')
      await logins.recordRefusal(actorOf(request), 'session.open', {
        details: { ...error.who, reason: error.problem },
      })
    throw error
  }
}
