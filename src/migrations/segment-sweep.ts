import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { batchesOf } from '../ground/batches.ts'
import { unfinishedLiterals } from './migration-store.ts'
import type { Reused } from './outcomes.ts'

/** A segment that nobody uses, and when it was last named. */
export interface UnusedSegment {
  key: string
  namedAt: number
}

const MIGRATIONS_AT_ONCE = 500

/**
 * Those that were named before then, or are damaged, and that no archive and no unfinished migration uses. Whoever takes a segment into use
 * names it in the same transaction: what was named since it was read here is in use again, and is not deleted.
 */
export async function unusedSegments(db: Db, since: number): Promise<UnusedSegment[]> {
  const rows = await db
    .selectFrom('segments')
    .select(['key', 'named_at'])
    .where((is) => is.or([is('named_at', '<', since), is('damaged_at', 'is not', null)]))
    .execute()
  const unused = new Map(rows.map((row) => [row.key, row.named_at]))
  if (unused.size === 0) return []
  for await (const ids of holders(db)) await withoutThoseOf(db, ids, unused)
  return [...unused].map(([key, namedAt]) => ({ key, namedAt }))
}

/** What they take that no archive and no unfinished migration uses. */
export async function bytesOfUnusedSegments(db: Db): Promise<number> {
  const rows = await db.selectFrom('segments').select(['key', 'length']).execute()
  const unused = new Map(rows.map((row) => [row.key, row.length]))
  for await (const ids of holders(db)) await withoutThoseOf(db, ids, unused)
  return unused.values().reduce((sum, length) => sum + length, 0)
}

/** False when it has come into use, or is gone, meanwhile. */
export async function deleteUnusedSegment(
  db: Db,
  { key, namedAt }: UnusedSegment,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('segments')
    .where('key', '=', key)
    .where('named_at', '=', namedAt)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** The unfinished first: one that is sealed meanwhile is found again among those that have an archive. */
async function* holders(db: Db): AsyncGenerator<number[]> {
  const unfinished = await db
    .selectFrom('migrations')
    .select('id')
    .where('state', 'in', unfinishedLiterals)
    .execute()
  yield* batchesOf(
    unfinished.map(({ id }) => id),
    MIGRATIONS_AT_ONCE,
  )
  yield* archivedMigrations(db)
}

/** The ids of all migrations that have an archive, many at a time. */
export async function* archivedMigrations(db: Db): AsyncGenerator<number[]> {
  for (let after = { at: -1, id: 0 }; ; ) {
    const archived = await db
      .selectFrom('migrations')
      .select(['id', 'archive_expires_at as at'])
      .where('archive_expires_at', 'is not', null)
      .where(sql<boolean>`(archive_expires_at, id) > (${after.at}, ${after.id})`)
      .orderBy('archive_expires_at')
      .orderBy('id')
      .limit(MIGRATIONS_AT_ONCE)
      .execute()
    const last = archived.at(-1)
    if (!last) return
    yield archived.map(({ id }) => id)
    after = { at: last.at!, id: last.id }
  }
}

async function withoutThoseOf(
  db: Db,
  ids: readonly number[],
  unused: Map<string, number>,
): Promise<void> {
  for await (const [, key] of segmentUses(db, ids, { withRows: true })) unused.delete(key)
}

/** Which migration uses which segment. The rows that records are made of are in no archive, but an unfinished export needs them. */
export async function* segmentUses(
  db: Db,
  ids: readonly number[],
  { withRows }: { withRows: boolean },
): AsyncGenerator<[migrationId: number, key: string]> {
  const own = await db
    .selectFrom('migrations')
    .select(['id', 'metadata_key', 'manifest_key'])
    .where('id', 'in', ids)
    .execute()
  for (const { id, metadata_key, manifest_key } of own)
    yield* pairs(id, [metadata_key, manifest_key])
  const single = await db
    .selectFrom('repository_exports')
    .select(['migration_id', 'segment_key as key'])
    .where('migration_id', 'in', ids)
    .execute()
  for (const { migration_id, key } of single) yield* pairs(migration_id, [key])
  const ofRecords = await db
    .selectFrom('record_exports')
    .select(['migration_id', 'rows_key', 'attachments_key', 'assets_key'])
    .where('migration_id', 'in', ids)
    .execute()
  for (const { migration_id, rows_key, attachments_key, assets_key } of ofRecords)
    yield* pairs(migration_id, [withRows ? rows_key : null, attachments_key, assets_key])
  const together = await db
    .selectFrom('reused_repositories')
    .select(['migration_id', 'repositories'])
    .where('migration_id', 'in', ids)
    .execute()
  for (const { migration_id, repositories } of together) {
    const keys = (JSON.parse(repositories) as Reused[]).map(([, key]) => key)
    yield* pairs(migration_id, keys)
  }
}

function* pairs(id: number, keys: readonly (string | null)[]): Generator<[number, string]> {
  for (const key of keys) if (key !== null) yield [id, key]
}
