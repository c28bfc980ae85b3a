import { sql } from 'kysely'
import type { Db, Row } from '../db/database.ts'

interface HistoryParts {
  db: Db
  now: () => number
  /** 0 keeps migrations forever. */
  migrationHistoryMs: number
}

/** The maximum for one run. */
const MIGRATIONS_AT_ONCE = 500
/** Limits the rows per statement, because on SQLite everything else waits for a statement. */
const ROWS_AT_ONCE = 2000

/**
 * Deletes migrations that ended long ago, with their repository lists and results. Keeps migrations that have an archive, are listed as a
 * run of a schedule, or have locks that are not yet removed at the source. Returns the number of deleted migrations.
 */
export async function sweepHistory(parts: HistoryParts): Promise<number> {
  const { db, now, migrationHistoryMs } = parts
  if (migrationHistoryMs === 0) return 0
  const old = await db
    .selectFrom('migrations')
    .select(['id', 'owner_id', 'repository_count'])
    .where('ended_at', '<', now() - migrationHistoryMs)
    .where('archive_expires_at', 'is', null)
    .where(
      sql<boolean>`not exists (select 1 from schedule_runs where migration_id = migrations.id)`,
    )
    .where(
      sql<boolean>`not exists (select 1 from repository_locks where migration_id = migrations.id)`,
    )
    .orderBy('ended_at')
    .limit(MIGRATIONS_AT_ONCE)
    .execute()
  for (const each of old) await db.transaction().execute((tx) => removeMigration(tx, each))
  return old.length
}

async function removeMigration(
  tx: Db,
  {
    id,
    owner_id,
    repository_count,
  }: Pick<Row<'migrations'>, 'id' | 'owner_id' | 'repository_count'>,
): Promise<void> {
  for (const table of ['repository_exports', 'record_exports'] as const)
    for (let to = ROWS_AT_ONCE; to < repository_count + ROWS_AT_ONCE; to += ROWS_AT_ONCE)
      await tx.deleteFrom(table).where('migration_id', '=', id).where('position', '<', to).execute()
  for (const table of ['reused_repositories', 'repository_lists'] as const)
    await tx.deleteFrom(table).where('migration_id', '=', id).execute()
  const { numDeletedRows } = await tx
    .deleteFrom('migrations')
    .where('id', '=', id)
    .executeTakeFirst()
  // The number of pages of an owner's migrations follows from this count.
  await tx
    .updateTable('accounts')
    .set((account) => ({
      migration_count: account('migration_count', '-', Number(numDeletedRows)),
    }))
    .where('id', '=', owner_id)
    .execute()
}
