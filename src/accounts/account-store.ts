import { sql } from 'kysely'
import { type Db, updateRow } from '../db/database.ts'
import { selectInBatches } from '../db/statement-batches.ts'
import type { Row } from '../db/tables.ts'
import { type Account, type AccountType, nameKey } from './account.ts'

export async function listAccounts(db: Db): Promise<Account[]> {
  const rows = await db.selectFrom('accounts').selectAll().orderBy('login_key').execute()
  return rows.map(accountFromRow)
}

export async function findAccount(db: Db, login: string): Promise<Account | undefined> {
  const row = await findAccountRow(db, login)
  return row && accountFromRow(row)
}

export const findAccountRow = (db: Db, login: string): Promise<Row<'accounts'> | undefined> =>
  db.selectFrom('accounts').selectAll().where('login_key', '=', nameKey(login)).executeTakeFirst()

/** Returns a map from id to account. It does not contain unknown ids. */
export async function findAccountsById(db: Db, ids: readonly number[]) {
  const rows = await selectInBatches([...new Set(ids)], (batch) =>
    db.selectFrom('accounts').selectAll().where('id', 'in', batch),
  )
  return new Map(rows.map((row) => [row.id, accountFromRow(row)]))
}

/** Returns a function that maps a login in any case to its stored spelling, for these `logins`, or for all accounts by default. */
export async function readLoginSpellings(db: Db, logins?: readonly string[]) {
  const query = db.selectFrom('accounts').select(['login_key', 'login'])
  const rows = logins
    ? await selectInBatches([...new Set(logins.map(nameKey))], (batch) =>
        query.where('login_key', 'in', batch),
      )
    : await query.execute()
  const spellings = new Map(rows.map((row) => [row.login_key, row.login]))
  return (login: string) => spellings.get(nameKey(login))
}

/**
 * Creates an account. If there is one with this login, updates the spelling of the login, and the creation time if `createdAt` is
 * earlier. The type of an existing account does not change.
 */
export async function ensureAccount(
  db: Db,
  login: string,
  createdAt: number,
  type: AccountType = 'User',
): Promise<Account> {
  const row = await db
    .insertInto('accounts')
    .values({ login, login_key: nameKey(login), type, site_admin: 0, created_at: createdAt })
    .onConflict((oc) =>
      oc.column('login_key').doUpdateSet({
        login,
        created_at: sql<number>`case when excluded.created_at < accounts.created_at
          then excluded.created_at else accounts.created_at end`,
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
  return accountFromRow(row)
}

/**
 * Returns the organization with this login. Creates it if there is no such account. If the account is a user that was never used,
 * makes it an organization. Returns undefined if a person has used the account. Must be called in a transaction.
 */
export async function ensureOrganization(tx: Db, login: string, now: number) {
  const account =
    (await findAccount(tx, login)) ?? (await ensureAccount(tx, login, now, 'Organization'))
  if (account.type === 'Organization') return account
  if (!(await isUnused(tx, account))) return undefined
  await updateRow(tx, 'accounts', account.id, { type: 'Organization' })
  return { ...account, type: 'Organization' as const }
}

/** Returns whether nobody ever signed in, started a migration or configured anything with the account. It may own repositories. */
export async function isUnused(tx: Db, { id }: Pick<Account, 'id'>): Promise<boolean> {
  const row = await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', id)
    .where('id', 'not in', (eb) => eb.selectFrom('tokens').select('account_id'))
    .where('id', 'not in', (eb) => eb.selectFrom('identities').select('account_id'))
    .where('id', 'not in', (eb) => eb.selectFrom('schedules').select('owner_id'))
    .where('id', 'not in', (eb) => eb.selectFrom('schedules').select('runs_as_id'))
    .where('id', 'not in', (eb) => eb.selectFrom('webhooks').select('owner_id'))
    // An account with a forge_id belongs to somebody on the forge, even if their unused tokens were deleted.
    .where('forge_id', 'is', null)
    .where('migration_count', '=', 0)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Deletes an account that owns no repositories, belongs to no organization and was never used. Returns false for any other. Requires a
 * transaction.
 */
export async function removeUnusedAccount(tx: Db, account: Account): Promise<boolean> {
  if (!(await isUnused(tx, account))) return false
  await tx.deleteFrom('forge_rights').where('account_id', '=', account.id).execute()
  const { numDeletedRows } = await tx
    .deleteFrom('accounts')
    .where('id', '=', account.id)
    .where('id', 'not in', (eb) => eb.selectFrom('repositories').select('owner_id'))
    .where('id', 'not in', (eb) => eb.selectFrom('memberships').select('account_id'))
    .where('id', 'not in', (eb) => eb.selectFrom('memberships').select('organization_id'))
    .executeTakeFirst()
  return numDeletedRows === 1n
}

export type AccountChange = { type?: AccountType; siteAdmin?: boolean }

/** Updates an account. Creates it first if it does not exist. Requires a transaction. */
export async function upsertAccount(tx: Db, login: string, change: AccountChange, now: number) {
  const account = (await findAccount(tx, login)) ?? (await ensureAccount(tx, login, now))
  const changed = { ...account, ...change }
  const columns = { type: changed.type, site_admin: Number(changed.siteAdmin) }
  await updateRow(tx, 'accounts', account.id, columns)
  return changed
}

type AccountColumns = Pick<Row<'accounts'>, 'id' | 'login' | 'type' | 'site_admin' | 'created_at'>

export const accountFromRow = (row: AccountColumns): Account => ({
  id: row.id,
  login: row.login,
  type: row.type as AccountType,
  siteAdmin: row.site_admin === 1,
  createdAt: row.created_at,
})
