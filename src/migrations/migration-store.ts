import { sql } from 'kysely'
import type { Account, Scope } from '../accounts/account.ts'
import { accountFromRow } from '../accounts/account-store.ts'
import { countRows, type Db, lockRow, MAX_INTEGER } from '../db/database.ts'
import { prepared } from '../db/prepared.ts'
import type { Row } from '../db/tables.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import {
  type Migration,
  type MigrationOptions,
  migrationOf,
  unfinishedStates,
} from './migration.ts'
import { insertRepositoryList, type Page, partAt, referencesOf } from './repository-list-store.ts'

/** Literals, because SQLite uses a partial index only if the query repeats its condition. */
export const unfinishedLiterals = unfinishedStates.map((state) => sql.lit(state))

interface NewMigration {
  guid: string
  owner: Account
  startedBy?: Account
  name?: string | null
  options: MigrationOptions
  repositories: RepositoryFacts[]
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
      .select(['facts_ids', 'part'])
      .where('migrations.id', '=', id)
      .where('owner_id', '=', ownerId),
  ([row]): Migration | undefined =>
    row && {
      ...migrationOf(row),
      listPart: { part: row.part, references: referencesOf(row.facts_ids) },
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
