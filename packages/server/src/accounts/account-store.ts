import { sql } from 'kysely'
import { type Db, hasRow, type Row, selectInBatches, updateRow } from '../db/database.ts'
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
  const unused = tx
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
  return hasRow(unused)
}

/**
 * Deletes an account that owns no repositories, belongs to no organization and was never used. Returns false for any other. Requires a
 * transaction.
 */
export async function removeUnusedAccount(tx: Db, account: Account): Promise<boolean> {
  if (!(await isUnused(tx, account))) return false
  await tx.deleteFrom('forge_permissions').where('account_id', '=', account.id).execute()
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

export interface ForgeOwner {
  /** Never reused, unlike a login. */
  id: number
  login: string
  /** Epoch milliseconds. The current time if the forge does not say. */
  createdAt: number
}

type AccountRow = Row<'accounts'>

/**
 * Finds or creates the account of a person of the forge, or returns the reason why the person may not have one. A renamed person
 * keeps the account; a person who registered the former login of another gets a new account. Requires a transaction.
 */
export async function accountOfForgeUser(tx: Db, user: ForgeOwner) {
  const { id, login, createdAt } = user
  const named = await findAccountRow(tx, login)
  if (named && !belongsToAnotherOwner(named, id) && named.type !== 'User')
    return { refusal: 'this login is an organization here' }
  // On a forge with open registration, anybody may register the login of a site admin.
  if (named?.site_admin && named.forge_id === null)
    return {
      refusal:
        'this login is a site admin here who has never signed in with the forge. If it is the same person, run godwit account edit LOGIN --no-site-admin, let them sign in, and grant it again',
    }
  await moveToLogin(tx, user, named)
  const account = await ensureAccount(tx, login, createdAt)
  await updateRow(tx, 'accounts', account.id, { forge_id: id })
  return account
}

/**
 * Finds or creates the account of an organization of the forge. A renamed organization keeps its account; an organization with the
 * login of a former one gets a new account. Returns undefined if the login belongs to a person here. Requires a transaction.
 */
export async function accountOfForgeOrganization(tx: Db, organization: ForgeOwner) {
  const { id, login, createdAt } = organization
  const named = await findAccountRow(tx, login)
  // Decided before `moveToLogin`, which must not rename anything for a refused login.
  const isRefused =
    named && !belongsToAnotherOwner(named, id) && !(await ensureOrganization(tx, login, createdAt))
  if (isRefused) return undefined
  await moveToLogin(tx, organization, named)
  const account = await ensureOrganization(tx, login, createdAt)
  if (account) await updateRow(tx, 'accounts', account.id, { forge_id: id })
  return account
}

/** Renames an account whose login now belongs to another owner on the forge, and deletes the memberships that the forge granted. */
export async function giveUpLogin(tx: Db, { id, login }: Pick<Account, 'id' | 'login'>) {
  const account = await findAccountRow(tx, login)
  if (account?.id !== id) return
  await rename(tx, account, `${login}--${account.forge_id}`)
  await tx
    .deleteFrom('memberships')
    .where('origin', '=', 'forge')
    .where((eb) => eb.or([eb('organization_id', '=', id), eb('account_id', '=', id)]))
    .execute()
}

const belongsToAnotherOwner = ({ forge_id }: AccountRow, id: number): boolean =>
  forge_id !== null && forge_id !== id

/**
 * Makes the login available to this forge owner, and renames the owner's account to it if there is one. `named` is the account that
 * has the login now.
 */
async function moveToLogin(tx: Db, { id, login }: ForgeOwner, named: AccountRow | undefined) {
  const withForgeId = tx.selectFrom('accounts').selectAll().where('forge_id', '=', id)
  const own = await withForgeId.executeTakeFirst()
  const mayTakeLogin = !named || belongsToAnotherOwner(named, id)
  if (named && mayTakeLogin) await giveUpLogin(tx, named)
  if (!own || own.id === named?.id) return
  if (mayTakeLogin) await rename(tx, own, login)
  else if (await isUnused(tx, named)) {
    // A sync created this account for a directory with the new login, before its owner was read from the forge.
    await rename(tx, named, `${login}--unused-${named.id}`)
    await rename(tx, own, login)
  }
  // The account with the new login is in use and belongs to no other owner of the forge, so this owner gets it.
  else await retire(tx, own)
}

/** Renames an account that its owner no longer uses, and removes its forge id. A new owner of its login must not get its data. */
async function retire(tx: Db, account: AccountRow): Promise<void> {
  const { id, login, forge_id } = account
  await rename(tx, account, `${login}--${forge_id}-${id}`)
  await updateRow(tx, 'accounts', id, { forge_id: null })
}

/** Renames an account. The callers make up logins with two dashes in a row, which forges do not allow, so they are unique. */
async function rename(tx: Db, { id, login_key }: AccountRow, login: string): Promise<void> {
  await updateRow(tx, 'accounts', id, { login, login_key: nameKey(login) })
  // Permissions that the forge granted under the old login are deleted, and read again later.
  const deletion = tx.deleteFrom('collaborators').where('login_key', '=', login_key)
  await deletion.where('origin', '=', 'forge').execute()
  await tx.deleteFrom('forge_permissions').where('account_id', '=', id).execute()
}
