import { sql } from 'kysely'
import type { Scope } from '../accounts/account.ts'
import type { Db, Row } from '../db/database.ts'
import { damagedAmong } from './archive-store.ts'
import { countHeldLocks } from './lock-store.ts'
import { CANCELLED, migrationOf } from './migration.ts'
import { newestRows, unfinishedLiterals } from './migration-store.ts'
import { firstNames, migrationsContaining, type Page } from './repository-list-store.ts'

/** A migration with its totals, without its repositories. */
export type Summary = Awaited<ReturnType<typeof summariesOf>>[number]

/** Returns a page of the migrations in the scope, newest first. */
export async function listSummaries(db: Db, scope: Scope, page: Page): Promise<Summary[]> {
  return summariesOf(db, await newestRows(db, scope, page))
}

/** The number of the newest migrations that are searched for a repository. */
export const MAX_SEARCHED_MIGRATIONS = 50

/** Returns the newest migrations in the scope that contain the repository, newest first. */
export async function summariesCovering(db: Db, scope: Scope, repositoryId: number) {
  const rows = await newestRows(db, scope, { offset: 0, limit: MAX_SEARCHED_MIGRATIONS })
  const ids = rows.map(({ id }) => id)
  const found = await migrationsContaining(db, ids, repositoryId)
  const covering = rows.filter(({ id }) => found.has(id))
  return summariesOf(db, covering)
}

export async function findSummary(db: Db, { owner }: Scope, id: number) {
  const rows = await migrations(db).where('id', '=', id).where('owner_id', '=', owner.id).execute()
  return (await summariesOf(db, rows))[0]
}

const migrations = (db: Db) => db.selectFrom('migrations').selectAll()

/** Finds a migration of any owner, for the log and for operators. */
export async function summaryById(db: Db, id: number): Promise<Summary | undefined> {
  return (await summariesOf(db, await migrations(db).where('id', '=', id).execute()))[0]
}

/** Returns the oldest unfinished migrations of all accounts, for operators. */
export async function unfinishedSummaries(db: Db, atMost: number): Promise<Summary[]> {
  const unfinished = migrations(db).where('state', 'in', unfinishedLiterals)
  const rows = await unfinished.orderBy('created_at').orderBy('id').limit(atMost).execute()
  return summariesOf(db, rows)
}

/** Returns the newest failed or partial migrations of all accounts, for operators. */
export async function failedOrPartialSummaries(db: Db, atMost: number): Promise<Summary[]> {
  const ended = migrations(db)
    .where('ended_at', 'is not', null)
    .orderBy('ended_at', 'desc')
    .limit(atMost)
  const failed = await ended
    .where('state', '=', sql.lit('failed'))
    .where('reason', '<>', sql.lit(CANCELLED))
    .execute()
  const partial = await ended
    .where('state', '=', sql.lit('exported'))
    // As the partial index has it.
    .where(sql<boolean>`skipped_count + incomplete_count > 0`)
    .execute()
  const newest = [...failed, ...partial].sort((a, b) => b.ended_at! - a.ended_at!)
  return summariesOf(db, newest.slice(0, atMost))
}

/** Returns the migrations of all accounts with the largest archives, for operators. */
export async function largestArchives(db: Db, atMost: number): Promise<Summary[]> {
  const archived = migrations(db).where('archive_expires_at', 'is not', null)
  const rows = await archived.orderBy('archive_bytes', 'desc').limit(atMost).execute()
  return summariesOf(db, rows)
}

const MAX_NAMES = 3

async function summariesOf(db: Db, rows: readonly Row<'migrations'>[]) {
  const ids = rows.map(({ id }) => id)
  const locks = await countHeldLocks(db, ids)
  const names = await firstNames(db, ids, MAX_NAMES)
  const damaged = await damagedAmong(db, ids)
  return rows.map((row) => ({
    ...migrationOf(row),
    startedAt: row.started_at,
    endedAt: row.ended_at,
    repositories: {
      total: row.repository_count,
      exported: row.repository_count - row.remaining - row.skipped_count - row.failed_count,
      /** Included in `exported`. */
      reused: row.reused_count,
      /** Exported repositories with missing LFS objects. */
      incomplete: row.incomplete_count,
      skipped: row.skipped_count,
      failed: row.failed_count,
      remaining: row.remaining,
    },
    /** Bytes of the exported repositories. */
    bytesDone: row.bytes_done,
    archive:
      row.archive_expires_at === null
        ? null
        : {
            bytes: row.archive_bytes ?? 0,
            expiresAt: row.archive_expires_at,
            /** Whether any of its segments is damaged. */
            isDamaged: damaged.has(row.id),
          },
    heldLocks: locks.get(row.id) ?? 0,
    /** The names of the first repositories. */
    names: names.get(row.id) ?? [],
  }))
}
