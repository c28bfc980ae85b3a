import type { Expression } from 'kysely'
import type { Db } from '../db/database.ts'
import { selectInBatches } from '../db/statement-batches.ts'

/**
 * Selects the ids of the repositories that an account may read now: permissions may change while a migration waits. For a
 * missing repository the last known permissions count.
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

/** Returns those of the ids that the account may read. */
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
