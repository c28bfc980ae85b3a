import { randomUUID } from 'node:crypto'
import { type Db, hasRow, lockRow, updateRow } from '../db/database.ts'
import { type Account, nameKey } from './account.ts'
import { accountFromRow, accountOfForgeUser, ensureAccount, findAccount } from './account-store.ts'
import { closeSessionsOf, openSessionWithoutToken, type SessionTimes } from './session-store.ts'
import { digestOf } from './token-store.ts'

/** Who signs in, according to an OpenID provider or an authenticating proxy. */
export interface Identity {
  issuer: string
  /** Never reused by the issuer, unlike a login. */
  subject: string
  /** At the first sign-in, the login of the account. The caller checks that it is a valid name. */
  login: string
  /** Whether the issuer makes the person a site admin; undefined if it does not decide that. */
  siteAdmin?: boolean | undefined
  /** The id of the person on the forge, if the forge is the issuer. */
  forgeId?: number | undefined
}

/** Why an identity gets no account. */
export type Refusal = 'unknown' | 'taken' | 'organization' | 'site-admin'

/**
 * Returns the account that the identity is bound to. At the first sign-in, binds it to the account with its `forgeId`, or else with its
 * login. The account is created if there is a `forgeId`, if `mayCreate` is set or if the login is a collaborator of a repository.
 * Nobody else gets that account afterwards. Requires a transaction.
 */
export async function accountOfIdentity(
  tx: Db,
  identity: Identity,
  { mayCreate, now }: { mayCreate: boolean; now: number },
): Promise<
  { account: Account; isFirstSignIn: boolean; isAdminChanged: boolean } | { refusal: Refusal }
> {
  const known = await findByIdentity(tx, identity)
  const account = known ?? (await bind(tx, identity, { mayCreate, now }))
  if (typeof account === 'string') return { refusal: account }
  if (account.type !== 'User') return { refusal: 'organization' }
  const { siteAdmin = account.siteAdmin } = identity
  const isAdminChanged = siteAdmin !== account.siteAdmin
  if (isAdminChanged) await updateRow(tx, 'accounts', account.id, { site_admin: Number(siteAdmin) })
  return { account: { ...account, siteAdmin }, isFirstSignIn: !known, isAdminChanged }
}

async function findByIdentity(tx: Db, { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>) {
  const row = await tx
    .selectFrom('identities')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .selectAll('accounts')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row && accountFromRow(row)
}

async function bind(
  tx: Db,
  identity: Identity,
  { mayCreate, now }: { mayCreate: boolean; now: number },
): Promise<Account | Refusal> {
  const { issuer, subject, login, siteAdmin, forgeId } = identity
  let account = await findAccount(tx, login)
  if (forgeId !== undefined) {
    const found = await accountOfForgeUser(tx, { id: forgeId, login, createdAt: now })
    if ('refusal' in found) return account?.type === 'Organization' ? 'organization' : 'site-admin'
    account = found
  } else if (!account && (mayCreate || (await isCollaborator(tx, login))))
    account = await ensureAccount(tx, login, now)
  if (!account) return 'unknown'
  if (account.type !== 'User') return 'organization'
  // At a provider with open registration, anybody may take the login of a site admin.
  if (forgeId === undefined && account.siteAdmin && !siteAdmin) return 'site-admin'
  await tx
    .insertInto('identities')
    .values({ issuer, subject, account_id: account.id })
    // An account has at most one identity. If it has another one, nothing is inserted or found.
    .onConflict((oc) => oc.doNothing())
    .execute()
  return (await findByIdentity(tx, identity)) ?? 'taken'
}

const isCollaborator = (tx: Db, login: string): Promise<boolean> =>
  hasRow(tx.selectFrom('collaborators').select('login_key').where('login_key', '=', nameKey(login)))

/**
 * Opens a session for the account that `accountOfIdentity` has returned. Returns undefined if the identity was unbound since then, or
 * the account is no longer a person. Requires a transaction.
 */
export async function openSessionOfIdentity(
  tx: Db,
  identity: Identity,
  { id }: Account,
  times: SessionTimes,
) {
  await lockRow(tx, 'accounts', id)
  const account = await findByIdentity(tx, identity)
  if (account?.id !== id || account.type !== 'User') return undefined
  return openSessionWithoutToken(tx, account, times)
}

/**
 * Lets another identity be bound to the account, and signs out its browsers. Returns false if no identity was bound. Requires a
 * transaction.
 */
export async function unbindIdentity(tx: Db, account: Account, now: number): Promise<boolean> {
  const { id: account_id } = account
  // A sign-in that runs at the same time opens its session before, and it is closed here, or finds no identity.
  await lockRow(tx, 'accounts', account_id)
  const { numDeletedRows } = await tx
    .deleteFrom('identities')
    .where('account_id', '=', account_id)
    .executeTakeFirst()
  if (numDeletedRows === 0n) return false
  await closeSessionsOf(tx, account)
  // The account may have no token. With only revoked ones, its schedules stop: see `hasOnlyRevokedTokens`.
  const times = { created_at: now, revoked_at: now }
  const digest = digestOf(randomUUID())
  await tx
    .insertInto('tokens')
    .values({ account_id, kind: 'session', name: 'former identity', digest, ...times })
    .execute()
  return true
}
