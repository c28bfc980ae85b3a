import type { Db } from '../db/database.ts'
import { batchesOf } from '../ground/batches.ts'
import { readableBy } from '../repositories/readable-repositories.ts'
import type { Migration } from './migration.ts'
import { type SegmentRecord, segmentOf } from './segment-store.ts'

const ROWS_AT_ONCE = 500

/** The archive of a migration is a list of segments, in order; the caller brings the transaction. */
export async function insertArchive(
  tx: Db,
  { id }: Migration,
  keys: readonly string[],
): Promise<void> {
  const rows = keys.map((segment_key, position) => ({ migration_id: id, position, segment_key }))
  for (const batch of batchesOf(rows, ROWS_AT_ONCE)) {
    await tx.insertInto('archive_segments').values(batch).execute()
  }
}

export async function archiveSegments(
  db: Db,
  { id }: Pick<Migration, 'id'>,
): Promise<SegmentRecord[]> {
  const rows = await db
    .selectFrom('archive_segments')
    .innerJoin('segments', 'segments.key', 'segment_key')
    .selectAll('segments')
    .where('migration_id', '=', id)
    .orderBy('position')
    .execute()
  return rows.map(segmentOf)
}

/** The first few repositories that the archive holds and the migration's owner may no longer read. */
export async function noLongerReadable(
  db: Db,
  { id, owner }: Pick<Migration, 'id' | 'owner'>,
  atMost: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('migration_repositories')
    .select('full_name')
    .where('migration_id', '=', id)
    .where('segment_key', 'is not', null)
    .where(({ not, exists, ref }) =>
      not(exists(readableBy(db, owner.id).where('repositories.id', '=', ref('repository_id')))),
    )
    .orderBy('position')
    .limit(atMost)
    .execute()
  return rows.map(({ full_name }) => full_name)
}

/** Who holds a signed link needs no account: the link says all. Past its time an archive is gone, swept or not. */
export async function findArchive(
  db: Db,
  guid: string,
  now: number,
): Promise<{ id: number; ownerId: number } | undefined> {
  return db
    .selectFrom('migrations')
    .select(['id', 'owner_id as ownerId'])
    .where('guid', '=', guid)
    .where('archive_expires_at', '>', now)
    .executeTakeFirst()
}

export async function expiredArchives(db: Db, now: number): Promise<number[]> {
  const rows = await db
    .selectFrom('migrations')
    .select('id')
    .where('archive_expires_at', '<=', now)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * The archive is gone at once; its repositories' segments stay for a while, to be reused. Returns the keys of the blobs
 * that only it had, to be deleted after the commit; undefined when there was no archive.
 */
export async function dropArchive(tx: Db, id: number, now: number): Promise<string[] | undefined> {
  const archived = await tx
    .selectFrom('migrations')
    .select('archive_key')
    .where('id', '=', id)
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirst()
  const { numUpdatedRows } = await tx
    .updateTable('migrations')
    .set((row) => ({
      archive_expires_at: null,
      archive_bytes: null,
      archive_key: null,
      version: row('version', '+', 1),
      updated_at: now,
    }))
    .where('id', '=', id)
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirst()
  if (!archived || numUpdatedRows === 0n) return undefined
  const dropped = await tx
    .deleteFrom('archive_segments')
    .where('migration_id', '=', id)
    .returning('segment_key')
    .execute()
  const keys = dropped.map((row) => row.segment_key)
  const own = archived.archive_key === null ? [] : [archived.archive_key]
  for (const some of batchesOf(keys, ROWS_AT_ONCE)) {
    await tx.updateTable('segments').set({ named_at: now }).where('key', 'in', some).execute()
    const metadata = await tx
      .deleteFrom('segments')
      .where('key', 'in', some)
      .where('fingerprint', 'is', null)
      .returning('key')
      .execute()
    own.push(...metadata.map(({ key }) => key))
  }
  return own
}

/** Those of the keys that are of whole archives. */
export async function archiveKeysAmong(db: Db, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await db
    .selectFrom('migrations')
    .select('archive_key')
    .where('archive_key', 'in', keys)
    .execute()
  return new Set(rows.map((row) => row.archive_key!))
}

/** How many there are to download, and how long they are together; most of their bytes are those of segments. */
export async function countArchives(db: Db): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await db
    .selectFrom('migrations')
    .select((of) => [of.fn.countAll<number>().as('count'), of.fn.sum('archive_bytes').as('bytes')])
    .where('archive_expires_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return { count, bytes: Number(bytes ?? 0) }
}
