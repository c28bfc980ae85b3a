import { sql } from 'kysely'
import type { Account, Viewer } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import type { MigrationsTable, Row } from '../db/tables.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import type { Migration, MigrationOptions } from './migration.ts'
import { insertSnapshot, type Page } from './snapshot-store.ts'
import { type MigrationState, unfinishedStates } from './states.ts'

/** Written out, because SQLite uses an index of some rows only where it can see that they are those. */
export const unfinishedLiterals = unfinishedStates.map((state) => sql.lit(state))

export interface NewMigration {
  guid: string
  owner: Account
  options: MigrationOptions
  repositories: RepositoryFacts[]
  /** For a migration of organizations alone. */
  organizations: Account[] | null
  now: number
}

/** Writes the migration and its snapshot; the caller brings the transaction. */
export async function insertMigration(tx: Db, migration: NewMigration): Promise<Migration> {
  const { owner, repositories, now } = migration
  const row = await tx
    .insertInto('migrations')
    .values({
      guid: migration.guid,
      owner_id: owner.id,
      owner: JSON.stringify(owner),
      options: JSON.stringify(migration.options),
      state: 'pending',
      reason: null,
      repository_count: repositories.length,
      remaining: repositories.length,
      organizations: migration.organizations && JSON.stringify(migration.organizations),
      archive_expires_at: null,
      archive_key: null,
      archive_bytes: null,
      metadata_key: null,
      manifest_key: null,
      started_at: null,
      ended_at: null,
      version: 1,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await tx
    .updateTable('accounts')
    .set((account) => ({ migration_count: account('migration_count', '+', 1) }))
    .where('id', '=', owner.id)
    .execute()
  await insertSnapshot(tx, row.id, repositories, now)
  return migrationOf(row)
}

const ownMigration = prepared(
  (db, { id, ownerId }: { id: number; ownerId: number }) =>
    db.selectFrom('migrations').selectAll().where('id', '=', id).where('owner_id', '=', ownerId),
  ([row]) => row && migrationOf(row),
)

export function findMigration(
  db: Db,
  { account }: Viewer,
  id: number,
): Promise<Migration | undefined> {
  return ownMigration(db, { id, ownerId: account.id })
}

/** Newest first. */
export async function listMigrations(
  db: Db,
  { account }: Viewer,
  { offset, limit }: Page,
): Promise<Migration[]> {
  const rows = await db
    .selectFrom('migrations')
    .selectAll()
    .where('owner_id', '=', account.id)
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(migrationOf)
}

export async function countMigrations(db: Db, { account }: Viewer): Promise<number> {
  const { migration_count } = await db
    .selectFrom('accounts')
    .select('migration_count')
    .where('id', '=', account.id)
    .executeTakeFirstOrThrow()
  return migration_count
}

export async function countUnfinished(db: Db, account: Account): Promise<number> {
  const { total } = await db
    .selectFrom('migrations')
    .select((of) => of.fn.countAll<number>().as('total'))
    .where('owner_id', '=', account.id)
    .where('state', 'in', unfinishedLiterals)
    .executeTakeFirstOrThrow()
  return total
}

/** Serializes those who start migrations for one account, on both engines: a write lock on the account's row. */
export async function lockAccount(tx: Db, account: Account): Promise<void> {
  await sql`update accounts set login_key = login_key where id = ${account.id}`.execute(tx)
}

export function migrationOf(row: Row<MigrationsTable>): Migration {
  return {
    id: row.id,
    guid: row.guid,
    owner: JSON.parse(row.owner) as Account,
    options: JSON.parse(row.options) as MigrationOptions,
    state: row.state as MigrationState,
    reason: row.reason,
    repositoryCount: row.repository_count,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    archiveExpiresAt: row.archive_expires_at,
    archiveKey: row.archive_key,
  }
}
