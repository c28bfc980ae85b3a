import type { Expression } from 'kysely'
import type { Db } from '../db/database.ts'
import { selectInBatches } from '../db/statement-batches.ts'

/**
 * What an account may read as the catalogue knows it now: permissions come and go while a migration waits. A repository
 * that is away counts as it was last seen.
 */
export function readableBy(db: Db, accountId: number | Expression<number>) {
  return db
    .selectFrom('repositories')
    .select('repositories.id')
    .where((is) =>
      is.or([
        is('repositories.private', '=', 0),
        is('repositories.owner_id', '=', accountId),
        is.exists(
          is
            .selectFrom('collaborators')
            .innerJoin('accounts', 'accounts.login_key', 'collaborators.login_key')
            .select('collaborators.repository_id')
            .whereRef('collaborators.repository_id', '=', 'repositories.id')
            .where('accounts.id', '=', accountId),
        ),
      ]),
    )
}

/** Those of the repositories that the account may read. */
export async function readableAmong(
  db: Db,
  accountId: number,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = await selectInBatches(ids, (some) =>
    readableBy(db, accountId).where('repositories.id', 'in', some),
  )
  return new Set(rows.map(({ id }) => id))
}
