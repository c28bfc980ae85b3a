import { type Account, keyOf } from '../accounts/account.ts'
import { accountOf } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'

/** The organizations in which the account administers a repository. */
export async function administeredOrganizations(db: Db, account: Account): Promise<Account[]> {
  const rows = await db
    .selectFrom('accounts')
    .selectAll('accounts')
    .where('type', '=', 'Organization')
    .where('id', 'in', (owners) =>
      owners
        .selectFrom('repositories')
        .innerJoin('collaborators', 'collaborators.repository_id', 'repositories.id')
        .select('owner_id')
        .where('login_key', '=', keyOf(account.login))
        .where('permission', '=', 'admin')
        .where('missing_since', 'is', null),
    )
    .orderBy('id')
    .execute()
  return rows.map(accountOf)
}
