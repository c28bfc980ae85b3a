import { InvalidRequest } from '@godwit/lib/request-errors'
import { type Db, lockRow } from '../db/database.ts'
import type { Account, Viewer } from './account.ts'
import { findVisibleOrganization } from './membership-store.ts'
import { addToken, digestOf, issuedTokens, tokenFromRow } from './token-store.ts'

const DAY_MS = 24 * 60 * 60_000
/** How long after sign-in a session may create and revoke tokens. */
const MAX_SESSION_AGE_MS = 15 * 60_000

/** Lists the issued tokens of an account that are not revoked, newest first. */
export async function listAccountTokens(db: Db, { id }: Account) {
  const query = issuedTokens(db).where('tokens.account_id', '=', id).where('revoked_at', 'is', null)
  const rows = await query.orderBy('tokens.id', 'desc').execute()
  return rows.map(tokenFromRow)
}

/**
 * Returns until when the caller may create and revoke tokens, or null if they may not. A stolen token must not be able to create
 * another one. So the caller needs a recent session, which was not opened with a limited token or with a token of kind `own`.
 */
export async function tokensManagedUntil(db: Db, viewer: Viewer): Promise<number | null> {
  const { session, tokenId, isReadOnly, organizationId } = viewer
  if (!session || isReadOnly || organizationId !== undefined) return null
  const opener = await findOpener(db, tokenId)
  return !opener || opener.kind === 'own' ? null : session.openedAt + MAX_SESSION_AGE_MS
}

/** Returns the token that a session was opened with, or undefined if the session has ended. */
const findOpener = (db: Db, id: number) =>
  db
    .selectFrom('tokens')
    .select(['kind', 'expires_at'])
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()

/** `field` is that of the request. */
const refusal = (message: string, field?: 'organization' | 'expires_in_days') =>
  new InvalidRequest([{ ...(field && { field }), code: 'custom', message }])

interface NewAccountToken {
  name: string
  days: number
  isReadOnly: boolean
  /** The login of the only organization in which it is valid. */
  organization: string | null
}

/** Creates a token for the caller, who is in a session. Throws InvalidRequest. Requires a transaction. */
export async function createAccountToken(
  tx: Db,
  viewer: Viewer,
  { name, days, isReadOnly, organization: login }: NewAccountToken,
  { max, now }: { max: number; now: number },
) {
  const { account, tokenId } = viewer
  const organization =
    login === null ? undefined : await findVisibleOrganization(tx, viewer, { login })
  if (login !== null && !organization)
    throw refusal('You are not a member of an organization with this name.', 'organization')
  const expiresAt = now + days * DAY_MS
  // `revokeTokensOf` locks the account too, so no token is created while all are revoked.
  await lockRow(tx, 'accounts', account.id)
  const opener = await findOpener(tx, tokenId)
  if (!opener) throw refusal('The session has ended.')
  // Sessions and tokens of the forge expire soon, but the account can sign in again, so they set no limit.
  const end = opener.kind === 'token' ? opener.expires_at : null
  if (end !== null && expiresAt > end) {
    const date = new Date(end).toISOString().slice(0, 10)
    const message = `It cannot be valid for longer than the token that you signed in with, which ends on ${date}.`
    throw refusal(message, 'expires_in_days')
  }
  const valid = (await listAccountTokens(tx, account)).filter(
    (each) => each.expiresAt === null || each.expiresAt > now,
  )
  if (valid.length >= max)
    throw refusal(`You have ${valid.length} tokens already: revoke one first.`)
  const organizationId = organization?.account.id
  const settings = { name, expiresAt, now, kind: 'own', isReadOnly, organizationId } as const
  const token = await addToken(tx, account, settings)
  const row = await issuedTokens(tx).where('digest', '=', digestOf(token)).executeTakeFirstOrThrow()
  return { ...tokenFromRow(row), token }
}
