import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { unfinishedLiterals } from './migration-store.ts'
import type { Reused } from './outcomes.ts'

/** A segment that nobody uses, and when it was last named. */
export interface UnusedSegment {
  key: string
  namedAt: number
}

/** How many rows one query reads: on SQLite, everything else waits for it. */
const ROWS_AT_ONCE = 2000
/** The largest integer of both databases. */
const MAX_POSITION = 2 ** 31 - 1

/**
 * Those that were named before then, or are damaged, and that no archive and no unfinished migration uses. Whoever takes a
 * segment into use names it in the same transaction: what was named since it was read here is in use again, and is not deleted.
 */
export async function unusedSegments(db: Db, since: number): Promise<UnusedSegment[]> {
  const unused = new Map<string, number>()
  for await (const { key, named_at } of segmentsNamedBefore(db, since)) unused.set(key, named_at)
  for (const { key, named_at } of await damagedSegments(db)) unused.set(key, named_at)
  if (unused.size === 0) return []
  for await (const some of holders(db)) await withoutThoseOf(db, some, unused)
  return [...unused].map(([key, namedAt]) => ({ key, namedAt }))
}

/** What they take that no archive and no unfinished migration uses. */
export async function bytesOfUnusedSegments(db: Db): Promise<number> {
  const unused = new Map<string, number>()
  for await (const { key, length } of segmentsNamedBefore(db, Number.MAX_SAFE_INTEGER))
    unused.set(key, length)
  for await (const some of holders(db)) await withoutThoseOf(db, some, unused)
  return unused.values().reduce((sum, length) => sum + length, 0)
}

async function* segmentsNamedBefore(db: Db, since: number) {
  for (let after = { named_at: -1, key: '' }; ; ) {
    const rows = await db
      .selectFrom('segments')
      .select(['key', 'named_at', 'length'])
      .where('named_at', '<', since)
      .where(sql<boolean>`(named_at, key) > (${after.named_at}, ${after.key})`)
      .orderBy('named_at')
      .orderBy('key')
      .limit(ROWS_AT_ONCE)
      .execute()
    yield* rows
    if (rows.length < ROWS_AT_ONCE) return
    after = rows.at(-1)!
  }
}

/** There are few: they are removed as soon as no archive contains them. */
const damagedSegments = (db: Db) =>
  db
    .selectFrom('segments')
    .select(['key', 'named_at'])
    .where('damaged_at', 'is not', null)
    .execute()

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

/** Some repositories of some migrations: few enough for one query. */
interface Held {
  ids: readonly number[]
  /** The first of their repositories, by position or by the order of their ends. */
  from: number
  /** Behind the last of them. */
  to: number
}

export interface Holder {
  id: number
  repositories: number
}

async function* holders(db: Db): AsyncGenerator<Held> {
  let batch: Holder[] = []
  let rows = 0
  for await (const holder of migrationsThatHold(db)) {
    // Each has rows of its own besides.
    const more = holder.repositories + 4
    if (batch.length > 0 && rows + more > ROWS_AT_ONCE) {
      yield* heldBy(batch)
      batch = []
      rows = 0
    }
    batch.push(holder)
    rows += more
  }
  yield* heldBy(batch)
}

/** One migration may have more than fits. */
function* heldBy(holders: readonly Holder[]): Generator<Held> {
  const ids = holders.map(({ id }) => id)
  const count = holders.length === 1 ? holders[0]!.repositories : 0
  for (let from = 0; ids.length > 0; from += ROWS_AT_ONCE) {
    const isLast = from + ROWS_AT_ONCE >= count
    yield { ids, from, to: isLast ? MAX_POSITION : from + ROWS_AT_ONCE }
    if (isLast) return
  }
}

/** The unfinished first: one that is sealed meanwhile is found again among those that have an archive. */
async function* migrationsThatHold(db: Db): AsyncGenerator<Holder> {
  yield* await db
    .selectFrom('migrations')
    .select(['id', 'repository_count as repositories'])
    .where('state', 'in', unfinishedLiterals)
    .execute()
  yield* archivedMigrations(db)
}

/** All migrations that have an archive. */
export async function* archivedMigrations(db: Db): AsyncGenerator<Holder> {
  for (let after = { at: -1, id: 0 }; ; ) {
    const archived = await db
      .selectFrom('migrations')
      .select(['id', 'repository_count as repositories', 'archive_expires_at as at'])
      .where('archive_expires_at', 'is not', null)
      .where(sql<boolean>`(archive_expires_at, id) > (${after.at}, ${after.id})`)
      .orderBy('archive_expires_at')
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    yield* archived
    const last = archived.at(-1)
    if (!last) return
    after = { at: last.at!, id: last.id }
  }
}

async function withoutThoseOf(db: Db, held: Held, unused: Map<string, number>): Promise<void> {
  for await (const [, key] of segmentUses(db, { ...held, withRows: true })) unused.delete(key)
}

type SegmentUsesOptions = Pick<Held, 'ids'> & Partial<Held> & { withRows?: boolean }

/** Which migration uses which segment. The rows that records are made of are in no archive, but an unfinished export needs them. */
export async function* segmentUses(
  db: Db,
  { ids, from = 0, to = MAX_POSITION, withRows = false }: SegmentUsesOptions,
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
    .where('position', '>=', from)
    .where('position', '<', to)
    .execute()
  for (const { migration_id, key } of single) yield* pairs(migration_id, [key])
  const ofRecords = await db
    .selectFrom('record_exports')
    .select(['migration_id', 'rows_key', 'attachments_key', 'assets_key'])
    .where('migration_id', 'in', ids)
    .where('position', '>=', from)
    .where('position', '<', to)
    .execute()
  for (const { migration_id, rows_key, attachments_key, assets_key } of ofRecords)
    yield* pairs(migration_id, [withRows ? rows_key : null, attachments_key, assets_key])
  const together = await db
    .selectFrom('reused_repositories')
    .select(['migration_id', 'repositories'])
    .where('migration_id', 'in', ids)
    .where('first_order', '>=', from)
    .where('first_order', '<', to)
    .execute()
  for (const { migration_id, repositories } of together) {
    const keys = (JSON.parse(repositories) as Reused[]).map(([, key]) => key)
    yield* pairs(migration_id, keys)
  }
}

function* pairs(id: number, keys: readonly (string | null)[]): Generator<[number, string]> {
  for (const key of keys) if (key !== null) yield [id, key]
}
