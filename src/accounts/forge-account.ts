import type { Db } from '../db/database.ts'
import type { AccountsTable, Row } from '../db/tables.ts'
import { type Account, keyOf } from './account.ts'
import { ensureAccount, ensureOrganization, isUnused } from './account-store.ts'

/** A person or an organization, as the forge knows it. */
export interface ForgeOwner {
  /** Never given to anybody else, unlike a login. */
  id: number
  login: string
  createdAt: number
}

type AccountRow = Row<AccountsTable>

/**
 * The account of a person of the forge, made where there is none. Who was given another login there keeps the account; who was
 * given the login of somebody else gets one of their own. Or why not. The caller brings the transaction.
 */
export async function accountOfForgeUser(
  tx: Db,
  user: ForgeOwner,
): Promise<Account | { refusal: string }> {
  const { id, login, createdAt } = user
  const named = await withLogin(tx, login)
  if (named && !isOfAnother(named, id) && named.type !== 'User')
    return { refusal: 'it is an organization here' }
  // Where everybody may register, the login of a site admin may be anybody's.
  if (named?.site_admin && named.forge_id === null)
    return {
      refusal:
        'it is a site admin here who never signed in by the forge. If they are the same person: godwit account set LOGIN --no-site-admin, sign in, and set it again',
    }
  await moveToLogin(tx, user, named)
  const account = await ensureAccount(tx, login, createdAt)
  await setForgeId(tx, account, id)
  return account
}

/**
 * Returns the account of an organization of the forge, and creates it if there is none. An organization that was renamed keeps its
 * account; one that was given the login of a former one gets its own. Returns undefined if the login is a person's here. The
 * caller brings the transaction.
 */
export async function accountOfForgeOrganization(
  tx: Db,
  organization: ForgeOwner,
): Promise<Account | undefined> {
  const { id, login, createdAt } = organization
  const named = await withLogin(tx, login)
  const isRefused =
    named && !isOfAnother(named, id) && !(await ensureOrganization(tx, login, createdAt))
  if (isRefused) return undefined
  await moveToLogin(tx, organization, named)
  const account = await ensureOrganization(tx, login, createdAt)
  if (account) await setForgeId(tx, account, id)
  return account
}

/**
 * Renames an account whose login is another's on the forge by now, unless that was done before. What the forge granted to it, or to
 * others in it, ends.
 */
export async function giveUpLogin(
  tx: Db,
  { id, login }: Pick<Account, 'id' | 'login'>,
): Promise<void> {
  const account = await withLogin(tx, login)
  if (account?.id !== id) return
  await rename(tx, account, `${login}--${account.forge_id}`)
  await tx
    .deleteFrom('memberships')
    .where('origin', '=', 'forge')
    .where((is) => is.or([is('organization_id', '=', id), is('account_id', '=', id)]))
    .execute()
}

const isOfAnother = ({ forge_id }: AccountRow, id: number): boolean =>
  forge_id !== null && forge_id !== id

/** Frees the login, and gives it to the account of this owner of the forge, if there is one. */
async function moveToLogin(
  tx: Db,
  { id, login }: ForgeOwner,
  named: AccountRow | undefined,
): Promise<void> {
  const same = await withForgeId(tx, id)
  const isFree = !named || isOfAnother(named, id)
  if (named && isFree) await giveUpLogin(tx, named)
  if (!same || same.id === named?.id) return
  if (isFree) await rename(tx, same, login)
  else if (await isUnused(tx, named)) {
    // It was made for a directory of the new login, before the forge told whose that is.
    await rename(tx, named, `${login}--unused-${named.id}`)
    await rename(tx, same, login)
  }
  // An account was made for the new login before: what is stored under it is this owner's too.
  else await retire(tx, same)
}

const withForgeId = (tx: Db, id: number): Promise<AccountRow | undefined> =>
  tx.selectFrom('accounts').selectAll().where('forge_id', '=', id).executeTakeFirst()

const withLogin = (tx: Db, login: string): Promise<AccountRow | undefined> =>
  tx.selectFrom('accounts').selectAll().where('login_key', '=', keyOf(login)).executeTakeFirst()

async function setForgeId(tx: Db, { id }: Pick<Account, 'id'>, forgeId: number | null) {
  await tx.updateTable('accounts').set({ forge_id: forgeId }).where('id', '=', id).execute()
}

/** Its login may be given to somebody else by now, who must not come into what it has. */
async function retire(tx: Db, account: AccountRow): Promise<void> {
  const { id, login, forge_id } = account
  await rename(tx, account, `${login}--${forge_id}-${id}`)
  await setForgeId(tx, account, null)
}

/** No forge gives a login with two dashes in a row: nobody else can have it. */
async function rename(tx: Db, { id, login_key }: AccountRow, login: string): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({ login, login_key: keyOf(login) })
    .where('id', '=', id)
    .execute()
  // What the forge granted was granted to the person; it is asked for again.
  await tx
    .deleteFrom('collaborators')
    .where('login_key', '=', login_key)
    .where('origin', '=', 'forge')
    .execute()
  await tx.deleteFrom('forge_rights').where('account_id', '=', id).execute()
}
