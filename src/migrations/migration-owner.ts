import type { Account } from '../accounts/account.ts'
import { accountOf } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'

/** Whose a migration is, as the account is now; undefined where there is no such migration. */
export async function migrationOwner(db: Db, migrationId: number): Promise<Account | undefined> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', (of) =>
      of.selectFrom('migrations').select('owner_id').where('migrations.id', '=', migrationId),
    )
    .executeTakeFirst()
  return row && accountOf(row)
}
