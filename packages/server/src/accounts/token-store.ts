import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Expression, expressionBuilder, type InferResult, type SqlBool } from 'kysely'
import { type Db, lockRow, type Tables } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import type { Account, Viewer } from './account.ts'
import { accountFromRow } from './account-store.ts'

/** The kinds of tokens that somebody created here: `token` by an operator, `own` by the account itself. */
const ISSUED_KINDS = ['token', 'own'] as const

interface TokenSettings {
  name: string
  expiresAt: number | null
  now: number
  kind?: (typeof ISSUED_KINDS)[number]
  isReadOnly?: boolean
  organizationId?: number | undefined
}

/** Creates a token and returns it. Only its digest is stored. */
export async function addToken(
  db: Db,
  account: Account,
  { name, expiresAt, now, kind = 'token', isReadOnly = false, organizationId }: TokenSettings,
): Promise<string> {
  const token = createToken()
  await db
    .insertInto('tokens')
    .values({
      account_id: account.id,
      kind,
      name,
      digest: digestOf(token),
      created_at: now,
      expires_at: expiresAt,
      read_only: Number(isReadOnly),
      organization_id: organizationId ?? null,
    })
    .execute()
  return token
}

/** Selects tokens with their accounts, for `viewerFromRow`. */
export const selectViewers = (db: Db) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .select(['tokens.id as token_id', 'tokens.read_only', 'tokens.organization_id'])
    .selectAll('accounts')

type ViewerRow = InferResult<ReturnType<typeof selectViewers>>[number]

export const viewerFromRow = (row: ViewerRow): Viewer => ({
  account: accountFromRow(row),
  tokenId: row.token_id,
  ...(row.read_only === 1 && { isReadOnly: true }),
  ...(row.organization_id !== null && { organizationId: row.organization_id }),
})

/** Finds a token that is not revoked. It may have expired. */
export const findTokenByDigest = prepared(
  (db, { digest }: { digest: string }) =>
    selectViewers(db)
      .select('expires_at')
      .where('digest', '=', digest)
      .where('revoked_at', 'is', null),
  ([row]) =>
    row && { viewer: viewerFromRow(row), expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY },
)

/** Returns whose token this is, or was: it may have been revoked. */
export async function findHolder(db: Db, token: string): Promise<Viewer | undefined> {
  const row = await selectViewers(db).where('digest', '=', digestOf(token)).executeTakeFirst()
  return row && viewerFromRow(row)
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
      // The forge accepted it. A token that it rejected expires at the time of the check.
      eb('tokens.expires_at', '>', eb.ref('tokens.forge_checked_at')),
    ]),
  ])
}

/** Returns the viewer of a token, or undefined unless the token `isUsableById`. */
export async function findViewerByTokenId(db: Db, tokenId: number, now: number) {
  const found = selectViewers(db).where('tokens.id', '=', tokenId).where(isUsableById(now))
  const row = await found.executeTakeFirst()
  return row && viewerFromRow(row)
}

/** Lists the issued tokens of all accounts. Tokens of the forge are managed there, and sessions end by signing out. */
export const listTokens = async (db: Db) =>
  (await issuedTokens(db).orderBy('tokens.id').execute()).map(tokenFromRow)

export const issuedTokens = (db: Db) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .leftJoin('accounts as organizations', 'organizations.id', 'tokens.organization_id')
    .select(['tokens.id', 'accounts.login', 'name', 'read_only'])
    .select(['organizations.login as organization', 'tokens.created_at as createdAt'])
    .select(['expires_at as expiresAt', 'last_used_at as lastUsedAt'])
    .select(['last_used_ip as lastUsedIp', 'revoked_at as revokedAt'])
    .where('kind', 'in', ISSUED_KINDS)

export type TokenRecord = ReturnType<typeof tokenFromRow>

type TokenRow = InferResult<ReturnType<typeof issuedTokens>>[number]

/** `organization` is the only one in which the token is valid. */
export const tokenFromRow = ({ read_only, ...row }: TokenRow) => ({
  ...row,
  isReadOnly: read_only === 1,
})

export async function removeToken(db: Db, token: string): Promise<void> {
  await db.deleteFrom('tokens').where('digest', '=', digestOf(token)).execute()
}

/** Revokes a token of any account, as an operator. Returns its account; undefined if it does not exist or was revoked before. */
export function revokeToken(db: Db, id: number, now: number) {
  const update = db.updateTable('tokens').set({ revoked_at: now }).where('id', '=', id)
  return update.where('revoked_at', 'is', null).returning('account_id as id').executeTakeFirst()
}

/**
 * Revokes the issued tokens of an account, or only the one with the `id`. `bySelf` is set if the account itself does so, not an
 * operator. Returns the ids of those that were not revoked before. Requires a transaction.
 */
export async function revokeTokensOf(
  tx: Db,
  account: Account,
  { now, bySelf, id }: { now: number; bySelf: boolean; id?: number | undefined },
): Promise<number[]> {
  await lockRow(tx, 'accounts', account.id)
  const rows = await tx
    .updateTable('tokens')
    .set({ revoked_at: now, self_revoked: Number(bySelf) })
    .where('account_id', '=', account.id)
    .where('kind', 'in', ISSUED_KINDS)
    .where('revoked_at', 'is', null)
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .returning('id')
    .execute()
  return rows.map((row) => row.id)
}

export interface TokenUse {
  at: number
  /** Null if it is not an IP address: a trusted proxy may forward anything. */
  ip: string | null
}

export async function recordTokenUse(db: Db, uses: ReadonlyMap<number, TokenUse>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Sorted, so that two processes that update the same rows cannot deadlock.
    for (const [id, { at, ip }] of [...uses].sort(([a], [b]) => a - b)) {
      const columns = { last_used_at: at, last_used_ip: ip }
      await tx.updateTable('tokens').set(columns).where('id', '=', id).execute()
    }
  })
}

/**
 * Returns whether an operator has removed the account by revoking all of its tokens. Expired tokens do not count as revoked, and
 * tokens that the account revoked itself do not count at all. Returns false for accounts of the forge, which are removed there, and
 * for accounts with an identity, which can sign in without a token.
 */
export async function hasOnlyRevokedTokens(db: Db, { id }: Account): Promise<boolean> {
  const rows = await db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
    .leftJoin('identities', 'identities.account_id', 'accounts.id')
    .select(['revoked_at', 'forge_id', 'subject'])
    .where('accounts.id', '=', id)
    .where('self_revoked', '=', 0)
    .execute()
  return rows.length > 0 && rows.every((row) => row.revoked_at && !row.forge_id && !row.subject)
}

const REVOKED_TTL_MS = 90 * 86_400_000

/**
 * Deletes tokens that were revoked long ago. Keeps those of the forge, which would work again, and the last token of each account that
 * an operator revoked, which shows that the account was removed (`hasOnlyRevokedTokens`).
 */
export async function sweepTokens(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('tokens')
    .where('revoked_at', '<', now - REVOKED_TTL_MS)
    .where('kind', '!=', 'forge')
    .where((eb) =>
      eb.or([
        eb('self_revoked', '=', 1),
        eb.exists(
          eb
            .selectFrom('tokens as newer')
            .select('newer.id')
            .whereRef('newer.account_id', '=', 'tokens.account_id')
            .whereRef('newer.id', '>', 'tokens.id')
            .where('newer.self_revoked', '=', 0),
        ),
      ]),
    )
    .execute()
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^gwt_[0-9A-Za-z]{38}$/

/**
 * Creates a token: `gwt_`, 32 random characters (190 bits) and their checksum. With the checksum, secret scanners recognize leaked
 * tokens, and a mistyped token is rejected without a query.
 */
export function createToken(): string {
  let secret = ''
  for (let i = 0; i < SECRET_LENGTH; i++) secret += ALPHABET[randomInt(ALPHABET.length)]
  return `gwt_${secret}${checksum(secret)}`
}

/** Returns whether the text has the form and the checksum of a token of Godwit. */
export const isGodwitToken = (text: string): boolean =>
  SHAPE.test(text) && text.slice(-CHECKSUM_LENGTH) === checksum(text.slice(4, -CHECKSUM_LENGTH))

/** Returns whether the text can only be a token of Godwit with a missing or wrong character. */
export const isMistypedToken = (text: string): boolean =>
  text.startsWith('gwt_') && !isGodwitToken(text)

/** Returns the SHA-256 of a token or secret. No salt is needed, since tokens and secrets of sessions are too random to be guessed. */
export const digestOf = (token: string): string => hash('sha256', token)

function checksum(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET[rest % ALPHABET.length] + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
