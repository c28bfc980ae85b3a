import { sql } from 'kysely'
import { type Db, selectInBatches, statementBatches } from '../db/database.ts'
import { type CheckedSegment, SEGMENT_COLUMNS } from './segment-store.ts'

export type CheckResult = 'intact' | 'damaged'

/** Returns segments that were last checked before a time, oldest check first. */
export async function oldestChecks(
  db: Db,
  before: number,
  atMost: number,
): Promise<CheckedSegment[]> {
  return db
    .selectFrom('segments')
    .select(SEGMENT_COLUMNS)
    .where('checked_at', '<', before)
    .orderBy('checked_at')
    .limit(atMost)
    .execute()
}

/** Records that the stored bytes of a segment match its digest. */
export async function recordIntact(
  db: Db,
  { key, length }: Pick<CheckedSegment, 'key' | 'length'>,
  now: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('segments')
      .set({ checked_at: now, damaged_at: null })
      .where('key', '=', key)
      .execute()
    await countCheck(tx, 'intact', length)
  })
}

/**
 * Records that the stored bytes of segments are wrong or missing. Exports do not reuse them any more, and the sweep removes them
 * once no archive contains them. Returns the keys of the segments that still exist.
 */
export async function recordDamaged(
  tx: Db,
  keys: readonly string[],
  now: number,
): Promise<readonly string[]> {
  const fingerprint = sql<
    string | null
  >`case when fingerprint is null then null else 'damaged ' || key end`
  const rows = await selectInBatches(keys, (batch) =>
    tx
      .updateTable('segments')
      .set((eb) => ({
        fingerprint,
        checked_at: now,
        damaged_at: eb.fn.coalesce('damaged_at', sql<number>`${now}`),
      }))
      .where('key', 'in', batch)
      .returning(['key', 'length']),
  )
  for (const { length } of rows) await countCheck(tx, 'damaged', length)
  return rows.map(({ key }) => key)
}

/** Records that a download has read complete segments and verified them. */
export async function recordVerifiedReads(
  db: Db,
  keys: readonly string[],
  now: number,
): Promise<void> {
  for (const batch of statementBatches(keys))
    await db
      .updateTable('segments')
      .set({ checked_at: now })
      .where('damaged_at', 'is', null)
      .where('key', 'in', batch)
      .execute()
}

async function countCheck(db: Db, result: CheckResult, bytes: number): Promise<void> {
  await db
    .updateTable('store_checks')
    .set((eb) => ({ count: eb('count', '+', 1), bytes: eb('bytes', '+', bytes) }))
    .where('result', '=', result)
    .execute()
}

export async function damagedKeys(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('segments')
    .select('key')
    .where('damaged_at', 'is not', null)
    .execute()
  return new Set(rows.map(({ key }) => key))
}

/** An archive that the bucket stores as one object beside its segments. */
export interface ComposedArchive {
  migrationId: number
  key: string
}

/** Returns composed archives that were last checked before a time, oldest check first. */
export async function oldestComposedChecks(
  db: Db,
  before: number,
  atMost: number,
): Promise<ComposedArchive[]> {
  const rows = await db
    .selectFrom('migrations')
    .select(['id', 'archive_key'])
    .where('archive_key', 'is not', null)
    .where('archive_checked_at', '<', before)
    .orderBy('archive_checked_at')
    .limit(atMost)
    .execute()
  return rows.map(({ id, archive_key }) => ({ migrationId: id, key: archive_key! }))
}

/** Records a check. The caller deletes a damaged object, and downloads use the segments instead. Returns false if it no longer exists. */
export async function recordComposedCheck(
  db: Db,
  { migrationId, key, length }: ComposedArchive & { length: number },
  result: CheckResult,
  now: number,
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('migrations')
      .set({ archive_checked_at: now, ...(result === 'damaged' && { archive_key: null }) })
      .where('id', '=', migrationId)
      .where('archive_key', '=', key)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    await countCheck(tx, result, length)
    return true
  })
}

/**
 * Returns the results of all checks so far, the number of segments that are damaged now, and the time of the oldest check of a
 * segment, which is null if nothing is stored.
 */
export async function readStoreChecks(db: Db) {
  const results = await db.selectFrom('store_checks').selectAll().execute()
  const { size: damaged } = await damagedKeys(db)
  const { oldestAt } = await db
    .selectFrom('segments')
    .select((eb) => eb.fn.min<number | null>('checked_at').as('oldestAt'))
    .executeTakeFirstOrThrow()
  return { results, damaged, oldestAt }
}
