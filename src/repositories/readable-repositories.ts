import { type Expression, type SqlBool, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { selectInBatches } from '../db/statement-batches.ts'

/**
 * Selects the ids of the repositories that an account may read now: permissions may change while a migration waits. For a
 * repository that is gone from the source, its last known permissions apply.
 */
export function readableBy(db: Db, accountId: number | Expression<number>) {
  return db
    .selectFrom('repositories')
    .select('repositories.id')
    .where((eb) =>
      eb.or([
        eb('repositories.private', '=', 0),
        eb('repositories.owner_id', '=', accountId),
        eb.exists(
          eb
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
  const rows = await selectInBatches(ids, (batch) =>
    readableBy(db, accountId).where('repositories.id', 'in', batch),
  )
  return new Set(rows.map(({ id }) => id))
}

/** SQL for "the account is an owner of the organization". Both are columns with ids, except that the account may be an id itself. */
export const ownsOrganization = (account: string | number, organization: string) =>
  sql<SqlBool>`exists (select 1 from memberships
    where organization_id = ${sql.ref(organization)} and role = 'owner'
    and memberships.account_id = ${typeof account === 'string' ? sql.ref(account) : account})`
