import { sql } from 'kysely'
import type { Account, Scope } from '../accounts/account.ts'
import { accountFromRow } from '../accounts/account-store.ts'
import { countRows, type Db, lockRow, MAX_INTEGER, type Row } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import type { RepositoryMetadata } from '../repositories/repository-metadata.ts'
import {
  type Migration,
  type MigrationOptions,
  migrationOf,
  unfinishedStates,
} from './migration.ts'
import { insertRepositoryList, type Page, partAt, referencesIn } from './repository-list-store.ts'

/** Literals, because SQLite uses a partial index only if the query repeats its condition. */
export const unfinishedLiterals = unfinishedStates.map((state) => sql.lit(state))

interface NewMigration {
  guid: string
  owner: Account
  startedBy?: Account
  name?: string | null
  options: MigrationOptions
  repositories: RepositoryMetadata[]
  /** Set for a migration with `orgMetadataOnly`. */
  organizations: Account[] | null
  now: number
}

/** Inserts the migration and its repository list. */
export async function insertMigration(tx: Db, migration: NewMigration): Promise<Migration> {
  const { owner, repositories, now } = migration
  const row = await tx
    .insertInto('migrations')
    .values({
      guid: migration.guid,
      owner_id: owner.id,
      owner: JSON.stringify(owner),
      started_by: JSON.stringify(migration.startedBy ?? owner),
      name: migration.name ?? null,
      options: JSON.stringify(migration.options),
      state: 'pending',
      repository_count: repositories.length,
      remaining: repositories.length,
      organizations: migration.organizations && JSON.stringify(migration.organizations),
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
  await insertRepositoryList(tx, row.id, repositories, now)
  return migrationOf(row)
}

const migrationInScope = prepared(
  (db, { id, ownerId }: { id: number; ownerId: number }) =>
    db.selectFrom('migrations').selectAll().where('id', '=', id).where('owner_id', '=', ownerId),
  ([row]) => row && migrationOf(row),
)

export function findMigration(
  db: Db,
  { owner }: Scope,
  id: number,
): Promise<Migration | undefined> {
  return migrationInScope(db, { id, ownerId: owner.id })
}

const migrationWithPart = prepared(
  (db, { id, ownerId, part }: { id: number; ownerId: number; part: number }) =>
    db
      .selectFrom('migrations')
      .leftJoin('repository_lists', (join) =>
        join.onRef('migration_id', '=', 'migrations.id').on('part', '=', part),
      )
      .selectAll('migrations')
      .select(['metadata_ids', 'part'])
      .where('migrations.id', '=', id)
      .where('owner_id', '=', ownerId),
  ([row]): Migration | undefined =>
    row && {
      ...migrationOf(row),
      listPart: { part: row.part, references: referencesIn(row.metadata_ids) },
    },
)

/** Finds a migration together with the part of its repository list that contains the repository at `offset`, in one query. */
export function findMigrationWithList(
  db: Db,
  { owner }: Scope,
  id: number,
  { offset } = { offset: 0 },
): Promise<Migration | undefined> {
  const part = Math.min(partAt(offset), MAX_INTEGER)
  return migrationWithPart(db, { id, ownerId: owner.id, part })
}

/** Returns a page of the migrations in the scope, newest first. */
export async function listMigrations(db: Db, scope: Scope, page: Page): Promise<Migration[]> {
  return (await newestRows(db, scope, page)).map(migrationOf)
}

export function newestRows(
  db: Db,
  { owner }: Scope,
  { offset, limit }: Page,
): Promise<Row<'migrations'>[]> {
  return db
    .selectFrom('migrations')
    .selectAll()
    .where('owner_id', '=', owner.id)
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countMigrations(db: Db, { owner }: Scope): Promise<number> {
  const { migration_count } = await db
    .selectFrom('accounts')
    .select('migration_count')
    .where('id', '=', owner.id)
    .executeTakeFirstOrThrow()
  return migration_count
}

export function countUnfinished(db: Db, { owner }: Scope): Promise<number> {
  return countRows(
    db
      .selectFrom('migrations')
      .where('owner_id', '=', owner.id)
      .where('state', 'in', unfinishedLiterals),
  )
}

/** Serializes transactions of one scope. */
export const lockScope = (tx: Db, { owner }: Scope): Promise<void> =>
  lockRow(tx, 'accounts', owner.id)

/** Returns columns of the row of a migration. Throws if there is no such migration. */
export const readColumns = <Column extends keyof Row<'migrations'>>(
  db: Db,
  id: number,
  columns: readonly Column[],
) => db.selectFrom('migrations').select(columns).where('id', '=', id).executeTakeFirstOrThrow()

/** Returns the owner's account as it is now, or undefined if there is no such migration. */
export async function migrationOwner(db: Db, migrationId: number): Promise<Account | undefined> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', (eb) =>
      eb.selectFrom('migrations').select('owner_id').where('migrations.id', '=', migrationId),
    )
    .executeTakeFirst()
  return row && accountFromRow(row)
}

interface HistoryDependencies {
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
export async function sweepHistory(dependencies: HistoryDependencies): Promise<number> {
  const { db, now, migrationHistoryMs } = dependencies
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
