import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type Db, selectInBatches } from '../db/database.ts'
import type { Account } from './account.ts'
import { digestOf, isGodwitToken, selectViewers, viewerFromRow } from './token-store.ts'

const SECRET_BYTES = 32
/**
 * A token has at most so many sessions, and an account so many without a token: the next one ends the oldest, so that nobody can fill
 * the database. They do not count together, because a limited token must not end the sessions of others.
 */
const MAX_SESSIONS = 50
/** SQLite has no offset without a limit. */
const MAX_ENDED_AT_ONCE = 1000

/** A browser that stays open keeps its cookie, but the session ends after `ttlMs`. */
export type SessionTimes = { now: number; ttlMs: number }

/**
 * Opens a session with a token and returns the secret for the browser's cookie. Only the digest of the secret is stored. A token of the
 * forge must be validated again later: the browser keeps it encrypted and the database keeps the key, so that neither has the token.
 */
export async function openSession(
  db: Db,
  { tokenId, token }: { tokenId: number; token?: string },
  { now, ttlMs }: SessionTimes,
): Promise<string> {
  const encrypted = token === undefined || isGodwitToken(token) ? undefined : encryptToken(token)
  const random = randomSecret()
  const secret = encrypted ? `${random}.${encrypted.text}` : random
  const oldest = db
    .selectFrom('sessions')
    .select('digest')
    .where('token_id', '=', tokenId)
    .orderBy('created_at', 'desc')
    .limit(MAX_ENDED_AT_ONCE)
    .offset(MAX_SESSIONS - 1)
  await db.deleteFrom('sessions').where('digest', 'in', oldest).execute()
  await db
    .insertInto('sessions')
    .values({
      digest: digestOf(secret),
      token_id: tokenId,
      token_key: encrypted?.key ?? null,
      created_at: now,
      expires_at: now + ttlMs,
    })
    .execute()
  return secret
}

/**
 * Opens a session for an account that a provider or a proxy has authenticated. A new token stands for the session, so that clone tokens
 * and streams end with it. Nobody knows the token, so it cannot be used for anything else. Requires a transaction.
 */
export async function openSessionWithoutToken(tx: Db, account: Account, times: SessionTimes) {
  const { now, ttlMs } = times
  const oldest = tx
    .selectFrom('tokens')
    .select('id')
    .where('account_id', '=', account.id)
    .where('kind', '=', 'session')
    .orderBy('id', 'desc')
    .limit(MAX_ENDED_AT_ONCE)
    .offset(MAX_SESSIONS - 1)
  await deleteSessionTokens(tx).where('id', 'in', oldest).execute()
  const { id: tokenId } = await tx
    .insertInto('tokens')
    .values({
      account_id: account.id,
      kind: 'session',
      name: 'browser session',
      digest: digestOf(randomSecret()),
      created_at: now,
      expires_at: now + ttlMs,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return { tokenId, secret: await openSession(tx, { tokenId }, times) }
}

const randomSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

export type Session = NonNullable<Awaited<ReturnType<typeof findSession>>>

/** Finds a session by its secret. Returns undefined if it has ended, also because its token was revoked. */
export async function findSession(db: Db, secret: string, now: number) {
  const digest = digestOf(secret)
  const row = await selectViewers(db)
    .innerJoin('sessions', 'sessions.token_id', 'tokens.id')
    .select(['tokens.expires_at as token_expires_at', 'token_key'])
    .select('sessions.created_at as opened_at')
    .where('sessions.digest', '=', digest)
    .where('sessions.expires_at', '>', now)
    .where('tokens.revoked_at', 'is', null)
    .executeTakeFirst()
  return (
    row && {
      viewer: { ...viewerFromRow(row), session: { openedAt: row.opened_at, digest } },
      isTokenValid: row.token_expires_at === null || row.token_expires_at > now,
      /** The key of the encrypted token; null unless it is a token of the forge. */
      tokenKey: row.token_key,
    }
  )
}

/** Returns those digests whose sessions have not ended. */
export async function openSessionsAmong(
  db: Db,
  digests: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  const rows = await selectInBatches([...new Set(digests)], (batch) =>
    db
      .selectFrom('sessions')
      .select('digest')
      .where('digest', 'in', batch)
      .where('expires_at', '>', now),
  )
  return new Set(rows.map(({ digest }) => digest))
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

/** Ends a session, and the token that stands for it. */
export async function closeSession(db: Db, secret: string): Promise<void> {
  const digest = digestOf(secret)
  await deleteSessionTokens(db)
    .where('id', 'in', (eb) =>
      eb.selectFrom('sessions').select('token_id').where('digest', '=', digest),
    )
    .execute()
  await db.deleteFrom('sessions').where('digest', '=', digest).execute()
}

export async function closeSessionsOf(db: Db, { id }: Account): Promise<void> {
  await deleteSessionTokens(db).where('account_id', '=', id).execute()
  await db
    .deleteFrom('sessions')
    .where('token_id', 'in', (eb) =>
      eb.selectFrom('tokens').select('id').where('account_id', '=', id),
    )
    .execute()
}

export async function sweepSessions(db: Db, now: number): Promise<void> {
  await deleteSessionTokens(db).where('expires_at', '<=', now).execute()
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
}

/**
 * Returns a query that deletes tokens which stand for sessions. Their sessions are deleted with them, by the foreign key. Keeps a
 * revoked one, which shows that the account was removed (`unbindIdentity`).
 */
const deleteSessionTokens = (db: Db) =>
  db.deleteFrom('tokens').where('kind', '=', 'session').where('revoked_at', 'is', null)
