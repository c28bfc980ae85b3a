import { type Db, updateRow } from '../db/database.ts'
import type { Row } from '../db/tables.ts'
import { type Account, nameKey } from './account.ts'
import { ensureAccount, ensureOrganization, findAccountRow, isUnused } from './account-store.ts'

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
  await tx.deleteFrom('forge_rights').where('account_id', '=', id).execute()
}
