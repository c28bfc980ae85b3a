import type { Account } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import { readableBy } from '../repositories/readable-repositories.ts'
import type { Migration } from './migration.ts'
import { migrationOf } from './migration-store.ts'
import { IllegalMove, type MigrationState, statesBefore } from './states.ts'
import { tally } from './tally-store.ts'

/** One repository of a migration, to be carried out. */
export interface ExportTask {
  migrationId: number
  position: number
}

export interface ExportedRepository {
  position: number
  facts: RepositoryFacts
  segmentKey: string | null
  /** Why it was omitted. */
  reason: string | null
}

/** For whoever does the work; a person's requests go through `findMigration`, which asks who they are. */
export async function migrationToExport(db: Db, id: number): Promise<Migration> {
  const row = await db
    .selectFrom('migrations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return migrationOf(row)
}

export async function repositoryToExport(
  db: Db,
  { migrationId, position }: ExportTask,
): Promise<{ facts: RepositoryFacts; mayBeRead: boolean }> {
  const { facts, readable } = await db
    .selectFrom('migration_repositories')
    .innerJoin('migrations', 'migrations.id', 'migration_id')
    .select((of) => [
      'facts',
      // Asked now, not when the migration was started.
      readableBy(db, of.ref('migrations.owner_id'))
        .where('repositories.id', '=', of.ref('repository_id'))
        .as('readable'),
    ])
    .where('migration_id', '=', migrationId)
    .where('position', '=', position)
    .executeTakeFirstOrThrow()
  return { facts: JSON.parse(facts) as RepositoryFacts, mayBeRead: readable !== null }
}

interface NewArchive {
  bytes: number
  expiresAt: number
  /** Where the store holds it whole. */
  key?: string
}

/** Throws IllegalMove where the migration is not in a state that leads there, as when it was ended meanwhile. */
export async function moveMigration(
  tx: Db,
  id: number,
  to: MigrationState,
  change: { now: number; reason?: string; archive?: NewArchive },
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('migrations')
    .set((row) => ({
      state: to,
      ...(to === 'exporting' ? { started_at: change.now } : { ended_at: change.now }),
      version: row('version', '+', 1),
      updated_at: change.now,
      reason: change.reason ?? null,
      archive_expires_at: change.archive?.expiresAt ?? null,
      archive_bytes: change.archive?.bytes ?? null,
      archive_key: change.archive?.key ?? null,
    }))
    .where('id', '=', id)
    .where('state', 'in', statesBefore(to))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new IllegalMove(`migration ${id} cannot become ${to} now`)
  if (to === 'exported' || to === 'failed') await tally(tx, `migrations ${to}`, { now: change.now })
}

export async function exportedRepositories(
  db: Db,
  { id }: Migration,
): Promise<ExportedRepository[]> {
  const rows = await db
    .selectFrom('migration_repositories')
    .select(['position', 'facts', 'segment_key', 'reason'])
    .where('migration_id', '=', id)
    .orderBy('position')
    .execute()
  return rows.map((row) => ({
    position: row.position,
    facts: JSON.parse(row.facts) as RepositoryFacts,
    segmentKey: row.segment_key,
    reason: row.reason,
  }))
}

/** The organizations of a migration that covers nothing else. */
export async function organizationsOf(db: Db, { id }: Migration): Promise<Account[]> {
  const { organizations } = await db
    .selectFrom('migrations')
    .select('organizations')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return organizations === null ? [] : (JSON.parse(organizations) as Account[])
}
