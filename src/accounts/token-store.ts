import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Expression, expressionBuilder, type SqlBool } from 'kysely'
import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import type { Tables } from '../db/tables.ts'
import type { Account, Viewer } from './account.ts'
import { accountFromRow } from './account-store.ts'

export interface TokenRecord {
  id: number
  login: string
  name: string
  createdAt: number
  expiresAt: number | null
  lastUsedAt: number | null
  revokedAt: number | null
}

/** Creates a token and returns it. Only its digest is stored. */
export async function addToken(
  db: Db,
  account: Account,
  { name, expiresAt, now }: { name: string; expiresAt: number | null; now: number },
): Promise<string> {
  const token = createToken()
  await db
    .insertInto('tokens')
    .values({
      account_id: account.id,
      kind: 'token',
      name,
      digest: digestOf(token),
      created_at: now,
      expires_at: expiresAt,
      last_used_at: null,
      revoked_at: null,
    })
    .execute()
  return token
}

const unrevokedTokenByDigest = prepared(
  (db, { digest }: { digest: string }) =>
    db
      .selectFrom('tokens')
      .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
      .select(['tokens.id as token_id', 'expires_at'])
      .selectAll('accounts')
      .where('digest', '=', digest)
      .where('revoked_at', 'is', null),
  ([row]) =>
    row && {
      viewer: { account: accountFromRow(row), tokenId: row.token_id },
      expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY,
    },
)

/** Returns undefined if the token is revoked or has expired. */
export async function findViewerByDigest(
  db: Db,
  digest: string,
  now: number,
): Promise<Viewer | undefined> {
  const token = await unrevokedTokenByDigest(db, { digest })
  return token && token.expiresAt > now ? token.viewer : undefined
}

/**
 * The condition for using a token that the current request does not contain. A token of Godwit must be valid. A token of the forge
 * expires after a minute and cannot be checked again without the token itself, so the result of its last check applies.
 */
export function isUsableById(now: number): Expression<SqlBool> {
  const eb = expressionBuilder<Tables, 'tokens'>()
  return eb.and([
    eb('tokens.revoked_at', 'is', null),
    eb.or([
      eb('tokens.expires_at', 'is', null),
      eb('tokens.expires_at', '>', now),
      eb('tokens.expires_at', '>', eb.ref('tokens.forge_checked_at')),
    ]),
  ])
}

/** Returns undefined unless the token `isUsableById`. */
export async function findViewerByTokenId(
  db: Db,
  tokenId: number,
  now: number,
): Promise<Viewer | undefined> {
  const row = await db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .selectAll('accounts')
    .where('tokens.id', '=', tokenId)
    .where(isUsableById(now))
    .executeTakeFirst()
  return row && { account: accountFromRow(row), tokenId }
}

export async function listTokens(db: Db): Promise<TokenRecord[]> {
  const rows = await db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .selectAll('tokens')
    .select('accounts.login')
    // Tokens of the forge are managed there, and sessions end by signing out.
    .where('kind', '=', 'token')
    .orderBy('tokens.id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    login: row.login,
    name: row.name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }))
}

export async function removeToken(db: Db, token: string): Promise<void> {
  await db.deleteFrom('tokens').where('digest', '=', digestOf(token)).execute()
}

/** Revokes a token. Returns false if it does not exist or was revoked before. */
export async function revokeToken(db: Db, id: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function recordTokenUse(db: Db, usedAt: ReadonlyMap<number, number>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Sorted, so that two processes that update the same rows cannot deadlock.
    for (const [id, at] of [...usedAt].sort(([a], [b]) => a - b)) {
      await tx.updateTable('tokens').set({ last_used_at: at }).where('id', '=', id).execute()
    }
  })
}

/**
 * Returns whether an operator has removed the account by revoking all of its tokens. Expired tokens do not count as revoked.
 * Accounts of the forge are removed there, and accounts with an identity can sign in without a token.
 */
export async function hasOnlyRevokedTokens(db: Db, { id }: Account): Promise<boolean> {
  const rows = await db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .leftJoin('identities', 'identities.account_id', 'accounts.id')
    .select(['revoked_at', 'forge_id', 'subject'])
    .where('accounts.id', '=', id)
    .execute()
  return rows.length > 0 && rows.every((row) => row.revoked_at && !row.forge_id && !row.subject)
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^gwt_[0-9A-Za-z]{38}$/

/**
 * Creates a token: `gwt_`, 32 random characters (190 bits) and their checksum. With the checksum, secret scanners recognize leaked tokens, and
 * a mistyped token is rejected without a query.
 */
export function createToken(): string {
  let secret = ''
  for (let i = 0; i < SECRET_LENGTH; i++) secret += ALPHABET[randomInt(ALPHABET.length)]
  return `gwt_${secret}${checksum(secret)}`
}

/** Returns whether the text has the form and the checksum of a token of Godwit. */
export function isGodwitToken(text: string): boolean {
  return (
    SHAPE.test(text) && text.slice(-CHECKSUM_LENGTH) === checksum(text.slice(4, -CHECKSUM_LENGTH))
  )
}

/** A hash without salt is sufficient, since tokens and secrets of sessions are too random to be guessed. */
export function digestOf(token: string): string {
  return hash('sha256', token)
}

function checksum(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET[rest % ALPHABET.length] + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
