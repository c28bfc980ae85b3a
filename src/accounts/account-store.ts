import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { selectInBatches } from '../db/statement-batches.ts'
import type { AccountsTable, Row } from '../db/tables.ts'
import { type Account, type AccountType, keyOf } from './account.ts'

export async function listAccounts(db: Db): Promise<Account[]> {
  const rows = await db.selectFrom('accounts').selectAll().orderBy('login_key').execute()
  return rows.map(accountOf)
}

export async function findAccount(db: Db, login: string): Promise<Account | undefined> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('login_key', '=', keyOf(login))
    .executeTakeFirst()
  return row && accountOf(row)
}

/** By their ids; what is not there is missing. */
export async function accountsById(db: Db, ids: readonly number[]): Promise<Map<number, Account>> {
  const rows = await selectInBatches([...new Set(ids)], (some) =>
    db.selectFrom('accounts').selectAll().where('id', 'in', some),
  )
  return new Map(rows.map((row) => [row.id, accountOf(row)]))
}

/** How the logins of these accounts are spelled, or of all there are; asked in any letter case. */
export async function knownSpellings(
  db: Db,
  logins?: readonly string[],
): Promise<(login: string) => string | undefined> {
  const query = db.selectFrom('accounts').select(['login_key', 'login'])
  const rows = logins
    ? await selectInBatches([...new Set(logins.map(keyOf))], (some) =>
        query.where('login_key', 'in', some),
      )
    : await query.execute()
  const spellings = new Map(rows.map((row) => [row.login_key, row.login]))
  return (login) => spellings.get(keyOf(login))
}

/**
 * Made as a plain user if it is new and nothing else is said; an account that is there keeps everything but the spelling of
 * its login, and when it was created where that turns out to be earlier.
 */
export async function ensureAccount(
  db: Db,
  login: string,
  createdAt: number,
  type: AccountType = 'User',
): Promise<Account> {
  const row = await db
    .insertInto('accounts')
    .values({ login, login_key: keyOf(login), type, site_admin: 0, created_at: createdAt })
    .onConflict((conflict) =>
      conflict.column('login_key').doUpdateSet({
        login,
        created_at: sql<number>`case when excluded.created_at < accounts.created_at
          then excluded.created_at else accounts.created_at end`,
      }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
  return accountOf(row)
}

/**
 * Makes an organization of an account that is new, or that never signed in, never migrated and so never was a person's. Undefined
 * where it was. The caller brings the transaction.
 */
export async function ensureOrganization(
  tx: Db,
  login: string,
  now: number,
): Promise<Account | undefined> {
  const account =
    (await findAccount(tx, login)) ?? (await ensureAccount(tx, login, now, 'Organization'))
  if (account.type === 'Organization') return account
  if (!(await isUnused(tx, account))) return undefined
  await tx
    .updateTable('accounts')
    .set({ type: 'Organization' })
    .where('id', '=', account.id)
    .execute()
  return { ...account, type: 'Organization' }
}

/** Whether the account is only a name of an owner of repositories: nobody ever signed in, migrated or set anything up as it. */
export async function isUnused(tx: Db, { id }: Pick<Account, 'id'>): Promise<boolean> {
  const row = await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', id)
    .where('id', 'not in', (holders) => holders.selectFrom('tokens').select('account_id'))
    .where('id', 'not in', (owners) => owners.selectFrom('schedules').select('owner_id'))
    .where('id', 'not in', (owners) => owners.selectFrom('webhooks').select('owner_id'))
    // A token of the forge that nobody uses is forgotten.
    .where('forge_id', 'is', null)
    .where('migration_count', '=', 0)
    .executeTakeFirst()
  return row !== undefined
}

export interface AccountChange {
  type?: AccountType
  siteAdmin?: boolean
}

/** Creates the account where there is none. */
export async function setAccount(
  db: Db,
  login: string,
  change: AccountChange,
  now: number,
): Promise<Account> {
  return db.transaction().execute(async (tx) => {
    const account = (await findAccount(tx, login)) ?? (await ensureAccount(tx, login, now))
    const changed = { ...account, ...change }
    await tx
      .updateTable('accounts')
      .set({ type: changed.type, site_admin: Number(changed.siteAdmin) })
      .where('id', '=', account.id)
      .execute()
    return changed
  })
}

type AccountColumns = Pick<
  Row<AccountsTable>,
  'id' | 'login' | 'type' | 'site_admin' | 'created_at'
>

export function accountOf(row: AccountColumns): Account {
  return {
    id: row.id,
    login: row.login,
    type: row.type as AccountType,
    siteAdmin: row.site_admin === 1,
    createdAt: row.created_at,
  }
}
