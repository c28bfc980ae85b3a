import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { accountFromRow } from './account-store.ts'
import { digestOf, isGodwitToken } from './token-store.ts'

/** A browser that stays open keeps its cookie, but the session ends after this time. */
const SESSION_TTL_MS = 7 * 24 * 60 * 60 * 1000
const SECRET_BYTES = 32

/**
 * Opens a session and returns the secret for the browser's cookie, which is not stored. A token of the forge must be validated again
 * later: the browser keeps it encrypted and the database keeps the key, so that neither has the token.
 */
export async function openSession(
  db: Db,
  { tokenId, token }: { tokenId: number; token: string },
  now: number,
): Promise<string> {
  const encrypted = isGodwitToken(token) ? undefined : encryptToken(token)
  const random = randomBytes(SECRET_BYTES).toString('base64url')
  const secret = encrypted ? `${random}.${encrypted.text}` : random
  await db
    .insertInto('sessions')
    .values({
      digest: digestOf(secret),
      token_id: tokenId,
      token_key: encrypted?.key ?? null,
      created_at: now,
      expires_at: now + SESSION_TTL_MS,
    })
    .execute()
  return secret
}

export interface Session {
  viewer: Viewer
  isTokenValid: boolean
  /** The key of the encrypted token; null unless it is a token of the forge. */
  tokenKey: string | null
}

/** Finds a session by its secret. A session whose token is revoked has ended. */
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
      viewer: { account: accountFromRow(row), tokenId: row.token_id },
      isTokenValid: row.token_expires_at === null || row.token_expires_at > now,
      tokenKey: row.token_key,
    }
  )
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

function encryptToken(token: string): { text: string; key: string } {
  const [key, iv] = [randomBytes(32), randomBytes(IV_BYTES)]
  const cipher = createCipheriv(CIPHER, key, iv)
  const encrypted = [iv, cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return { text: Buffer.concat(encrypted).toString('base64url'), key: key.toString('base64url') }
}

/** Decrypts the token in the secret of a session. The secret must have been found by `findSession`. */
export function decryptToken(secret: string, key: string): string {
  const encrypted = Buffer.from(secret.slice(secret.indexOf('.') + 1), 'base64url')
  const iv = encrypted.subarray(0, IV_BYTES)
  const decipher = createDecipheriv(CIPHER, Buffer.from(key, 'base64url'), iv)
  decipher.setAuthTag(encrypted.subarray(-TAG_BYTES))
  const text = decipher.update(encrypted.subarray(IV_BYTES, -TAG_BYTES))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}

export async function closeSession(db: Db, secret: string): Promise<void> {
  await db.deleteFrom('sessions').where('digest', '=', digestOf(secret)).execute()
}

export async function sweepSessions(db: Db, now: number): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
}
