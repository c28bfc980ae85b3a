import { randomBytes } from 'node:crypto'
import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { accountOf } from './account-store.ts'
import { digestOf } from './token.ts'

/** However long a browser stays open. */
export const SESSION_TTL_MS = 7 * 24 * 60 * 60 * 1000
const SECRET_BYTES = 32

/** Returns the secret that the browser is to send back: the only time anyone sees it. */
export async function openSession(db: Db, { tokenId }: Viewer, now: number): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  await db
    .insertInto('sessions')
    .values({
      digest: digestOf(secret),
      token_id: tokenId,
      created_at: now,
      expires_at: now + SESSION_TTL_MS,
    })
    .execute()
  return secret
}

/** A session is worth what its token is: revoked or expired, it ends at once. */
export async function viewerInSession(
  db: Db,
  secret: string,
  now: number,
): Promise<Viewer | undefined> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('tokens', 'tokens.id', 'sessions.token_id')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .select(['tokens.id as token_id', 'tokens.expires_at as token_expires_at'])
    .selectAll('accounts')
    .where('sessions.digest', '=', digestOf(secret))
    .where('sessions.expires_at', '>', now)
    .where('tokens.revoked_at', 'is', null)
    .executeTakeFirst()
  if (!row || (row.token_expires_at !== null && row.token_expires_at <= now)) return undefined
  return { account: accountOf(row), tokenId: row.token_id }
}

export async function closeSession(db: Db, secret: string): Promise<void> {
  await db.deleteFrom('sessions').where('digest', '=', digestOf(secret)).execute()
}

export async function sweepSessions(db: Db, now: number): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
}
