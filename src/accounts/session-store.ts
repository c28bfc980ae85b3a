import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { accountOf } from './account-store.ts'
import { digestOf, looksLikeToken } from './token.ts'

/** However long a browser stays open. */
export const SESSION_TTL_MS = 7 * 24 * 60 * 60 * 1000
const SECRET_BYTES = 32

/**
 * Returns the secret that the browser is to send back: the only time anyone sees it. Of a token of the forge, which is to be
 * asked about again, the browser keeps the text, sealed, and the database the key: neither of them has the token.
 */
export async function openSession(
  db: Db,
  { tokenId, token }: { tokenId: number; token: string },
  now: number,
): Promise<string> {
  const sealed = looksLikeToken(token) ? undefined : sealToken(token)
  const random = randomBytes(SECRET_BYTES).toString('base64url')
  const secret = sealed ? `${random}.${sealed.text}` : random
  await db
    .insertInto('sessions')
    .values({
      digest: digestOf(secret),
      token_id: tokenId,
      token_key: sealed?.key ?? null,
      created_at: now,
      expires_at: now + SESSION_TTL_MS,
    })
    .execute()
  return secret
}

export interface Session {
  viewer: Viewer
  isTokenValid: boolean
  /** Where the token is one of the forge. */
  tokenKey: string | null
}

/** A session is worth what its token is: revoked, it ends at once. */
export async function findSession(
  db: Db,
  secret: string,
  now: number,
): Promise<Session | undefined> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('tokens', 'tokens.id', 'sessions.token_id')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .select(['tokens.id as token_id', 'tokens.expires_at as token_expires_at', 'token_key'])
    .selectAll('accounts')
    .where('sessions.digest', '=', digestOf(secret))
    .where('sessions.expires_at', '>', now)
    .where('tokens.revoked_at', 'is', null)
    .executeTakeFirst()
  return (
    row && {
      viewer: { account: accountOf(row), tokenId: row.token_id },
      isTokenValid: row.token_expires_at === null || row.token_expires_at > now,
      tokenKey: row.token_key,
    }
  )
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

function sealToken(token: string): { text: string; key: string } {
  const [key, iv] = [randomBytes(32), randomBytes(IV_BYTES)]
  const cipher = createCipheriv(CIPHER, key, iv)
  const sealed = [iv, cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return { text: Buffer.concat(sealed).toString('base64url'), key: key.toString('base64url') }
}

/** From the secret of a session that was found: its digest proves the text. */
export function unsealToken(secret: string, key: string): string {
  const sealed = Buffer.from(secret.slice(secret.indexOf('.') + 1), 'base64url')
  const opener = createDecipheriv(
    CIPHER,
    Buffer.from(key, 'base64url'),
    sealed.subarray(0, IV_BYTES),
  )
  opener.setAuthTag(sealed.subarray(-TAG_BYTES))
  const text = opener.update(sealed.subarray(IV_BYTES, -TAG_BYTES))
  return Buffer.concat([text, opener.final()]).toString('utf8')
}

export async function closeSession(db: Db, secret: string): Promise<void> {
  await db.deleteFrom('sessions').where('digest', '=', digestOf(secret)).execute()
}

export async function sweepSessions(db: Db, now: number): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
}
