import type { Db } from '../db/database.ts'
import type { AccountsTable, Row } from '../db/tables.ts'
import { type Account, keyOf } from './account.ts'
import { ensureAccount } from './account-store.ts'

/** A person, as the forge knows them. */
export interface ForgeUser {
  /** Never given to anybody else, unlike a login. */
  id: number
  login: string
  createdAt: number
}

/**
 * The account of a person of the forge, made where there is none. Who was given another login there keeps the account; who was
 * given the login of somebody else gets one of their own. Or why not. The caller brings the transaction.
 */
export async function accountOfForgeUser(
  tx: Db,
  { id, login, createdAt }: ForgeUser,
): Promise<Account | { refusal: string }> {
  const same = await withForgeId(tx, id)
  const named = await withLogin(tx, login)
  if (named && named.type !== 'User') return { refusal: 'it is an organization here' }
  // Where everybody may register, the login of a site admin may be anybody's.
  if (named?.site_admin && named.forge_id === null)
    return {
      refusal:
        'it is a site admin here who never signed in by the forge. If they are the same person: godwit account set LOGIN --no-site-admin, sign in, and set it again',
    }
  const isOthers = named && named.forge_id !== null && named.forge_id !== id
  if (isOthers) await rename(tx, named, `${named.login}--${named.forge_id}`)
  if (same && same.id !== named?.id) {
    if (!named || isOthers) await rename(tx, same, login)
    // An account was made for the new login before: what is stored under it is this person's too.
    else await retire(tx, same)
  }
  const account = await ensureAccount(tx, login, createdAt)
  await tx.updateTable('accounts').set({ forge_id: id }).where('id', '=', account.id).execute()
  return account
}

const withForgeId = (tx: Db, id: number): Promise<Row<AccountsTable> | undefined> =>
  tx.selectFrom('accounts').selectAll().where('forge_id', '=', id).executeTakeFirst()

const withLogin = (tx: Db, login: string): Promise<Row<AccountsTable> | undefined> =>
  tx.selectFrom('accounts').selectAll().where('login_key', '=', keyOf(login)).executeTakeFirst()

/** Its login may be given to somebody else by now, who must not come into what it has. */
async function retire(tx: Db, account: Row<AccountsTable>): Promise<void> {
  const { id, login, forge_id } = account
  await rename(tx, account, `${login}--${forge_id}-${id}`)
  await tx.updateTable('accounts').set({ forge_id: null }).where('id', '=', id).execute()
}

/** No forge gives a login with two dashes in a row: nobody else can have it. */
async function rename(tx: Db, { id, login_key }: Row<AccountsTable>, login: string): Promise<void> {
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
}
