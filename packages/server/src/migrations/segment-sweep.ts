import { sql } from 'kysely'
import { type Db, MAX_INTEGER, rowsInPages } from '../db/database.ts'
import { unfinishedLiterals } from './migration-store.ts'
import type { Reused } from './outcomes.ts'

/** A segment that no migration uses, and when an export last used it. */
interface UnusedSegment {
  key: string
  lastUsedAt: number
}

/** Limits the rows per query, because on SQLite everything else waits for a query. */
const ROWS_AT_ONCE = 2000

/**
 * Returns segments that were last used before `since`, or are damaged, and that neither an archive nor an unfinished migration
 * uses. An export that uses a segment sets `last_used_at` in the same transaction, so `deleteUnusedSegment` does not delete a
 * segment that is in use again.
 */
export async function unusedSegments(db: Db, since: number): Promise<UnusedSegment[]> {
  const unused = new Map<string, number>()
  for await (const { key, last_used_at } of segmentsLastUsedBefore(db, since))
    unused.set(key, last_used_at)
  // These are few, because the sweep removes them once no archive contains them.
  const damaged = await db
    .selectFrom('segments')
    .select(['key', 'last_used_at'])
    .where('damaged_at', 'is not', null)
    .execute()
  for (const { key, last_used_at } of damaged) unused.set(key, last_used_at)
  if (unused.size > 0) await removeUsed(db, unused)
  return [...unused].map(([key, lastUsedAt]) => ({ key, lastUsedAt }))
}

/** Returns the total size of segments that neither an archive nor an unfinished migration uses. */
export async function bytesOfUnusedSegments(db: Db): Promise<number> {
  const unused = new Map<string, number>()
  for await (const { key, length } of segmentsLastUsedBefore(db, Number.MAX_SAFE_INTEGER))
    unused.set(key, length)
  await removeUsed(db, unused)
  return unused.values().reduce((sum, length) => sum + length, 0)
}

const segmentsLastUsedBefore = (db: Db, since: number) =>
  rowsInPages(ROWS_AT_ONCE, { last_used_at: -1, key: '' }, (after) =>
    db
      .selectFrom('segments')
      .select(['key', 'last_used_at', 'length'])
      .where('last_used_at', '<', since)
      .where(sql<boolean>`(last_used_at, key) > (${after.last_used_at}, ${after.key})`)
      .orderBy('last_used_at')
      .orderBy('key'),
  )

/** Returns false if the segment was used or deleted meanwhile. */
export async function deleteUnusedSegment(db: Db, { key, lastUsedAt }: UnusedSegment) {
  const { numDeletedRows } = await db
    .deleteFrom('segments')
    .where('key', '=', key)
    .where('last_used_at', '=', lastUsedAt)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** A range of repositories of some migrations, small enough for one query. */
interface UsedRange {
  ids: readonly number[]
  /** The first position, or the first number in the order of ends. */
  from: number
  /** Exclusive. */
  to: number
}

interface MigrationSize {
  id: number
  repositories: number
}

async function* usedRanges(db: Db): AsyncGenerator<UsedRange> {
  let batch: MigrationSize[] = []
  let rows = 0
  for await (const migration of migrationsWithSegments(db)) {
    // Each migration has a few more rows than repositories.
    const more = migration.repositories + 4
    if (batch.length > 0 && rows + more > ROWS_AT_ONCE) {
      yield* rangesOf(batch)
      batch = []
      rows = 0
    }
    batch.push(migration)
    rows += more
  }
  yield* rangesOf(batch)
}

/** Splits a migration with too many repositories for one query. */
function* rangesOf(migrations: readonly MigrationSize[]): Generator<UsedRange> {
  const ids = migrations.map(({ id }) => id)
  const count = migrations.length === 1 ? migrations[0]!.repositories : 0
  for (let from = 0; ids.length > 0; from += ROWS_AT_ONCE) {
    const isLast = from + ROWS_AT_ONCE >= count
    yield { ids, from, to: isLast ? MAX_INTEGER : from + ROWS_AT_ONCE }
    if (isLast) return
  }
}

/** Yields unfinished migrations first: one whose archive is completed meanwhile is found again among those with an archive. */
async function* migrationsWithSegments(db: Db): AsyncGenerator<MigrationSize> {
  yield* await db
    .selectFrom('migrations')
    .select(['id', 'repository_count as repositories'])
    .where('state', 'in', unfinishedLiterals)
    .execute()
  yield* archivedMigrations(db)
}

/** Yields all migrations that have an archive. */
export const archivedMigrations = (db: Db): AsyncGenerator<MigrationSize> =>
  rowsInPages(ROWS_AT_ONCE, { at: -1 as number | null, id: 0 }, (after) =>
    db
      .selectFrom('migrations')
      .select(['id', 'repository_count as repositories', 'archive_expires_at as at'])
      .where('archive_expires_at', 'is not', null)
      .where(sql<boolean>`(archive_expires_at, id) > (${after.at}, ${after.id})`)
      .orderBy('archive_expires_at')
      .orderBy('id'),
  )

async function removeUsed(db: Db, unused: Map<string, number>): Promise<void> {
  for await (const range of usedRanges(db))
    for await (const [, key] of segmentUses(db, { ...range, withRows: true })) unused.delete(key)
}

type SegmentUsesOptions = Pick<UsedRange, 'ids'> & Partial<UsedRange> & { withRows?: boolean }

/** Yields the segments that each migration uses. The rows of records are in no archive, but an unfinished export needs them. */
export async function* segmentUses(
  db: Db,
  { ids, from = 0, to = MAX_INTEGER, withRows = false }: SegmentUsesOptions,
): AsyncGenerator<[migrationId: number, key: string]> {
  const own = await db
    .selectFrom('migrations')
    .select(['id', 'metadata_key', 'manifest_key'])
    .where('id', 'in', ids)
    .execute()
  for (const { id, metadata_key, manifest_key } of own)
    yield* pairs(id, [metadata_key, manifest_key])
  const exports = await db
    .selectFrom('repository_exports')
    .select(['migration_id', 'segment_key as key'])
    .where('migration_id', 'in', ids)
    .where('position', '>=', from)
    .where('position', '<', to)
    .execute()
  for (const { migration_id, key } of exports) yield* pairs(migration_id, [key])
  const records = await db
    .selectFrom('record_exports')
    .select(['migration_id', 'rows_key', 'attachments_key', 'assets_key'])
    .where('migration_id', 'in', ids)
    .where('position', '>=', from)
    .where('position', '<', to)
    .execute()
  for (const { migration_id, rows_key, attachments_key, assets_key } of records)
    yield* pairs(migration_id, [withRows ? rows_key : null, attachments_key, assets_key])
  const reused = await db
    .selectFrom('reused_repositories')
    .select(['migration_id', 'repositories'])
    .where('migration_id', 'in', ids)
    .where('first_order', '>=', from)
    .where('first_order', '<', to)
    .execute()
  for (const { migration_id, repositories } of reused) {
    const keys = (JSON.parse(repositories) as Reused[]).map(([, key]) => key)
    yield* pairs(migration_id, keys)
  }
}

function* pairs(id: number, keys: readonly (string | null)[]): Generator<[number, string]> {
  for (const key of keys) if (key !== null) yield [id, key]
}
