import { type Db, type Row, rowsInPages } from '../db/database.ts'
import type { Loss } from '../lib/losses.ts'
import type { ExportTask, Migration } from './migration.ts'

/** The stored records of one repository: the blob with their rows, and the segments of their files. */
export type RepositoryRecords = NonNullable<ReturnType<typeof exportOf>['records']>

/** Whether neither the git data nor the records have changed. */
export const isFullyReused = (
  git: { reused: boolean },
  records: Pick<RepositoryRecords, 'reused'> | null | undefined,
): boolean => git.reused && records?.reused !== false

export type RecordsProgress = ReturnType<typeof exportOf>['progress']

const ROWS_AT_ONCE = 500

/** Returns the records of a migration by position. Repositories whose records were not begun are missing. */
export async function readRecordExports(db: Db, { id }: Pick<Migration, 'id'>) {
  const exports = new Map<number, ReturnType<typeof exportOf>>()
  const rows = rowsInPages(ROWS_AT_ONCE, { position: -1 }, (after) =>
    db
      .selectFrom('record_exports')
      .selectAll()
      .where('migration_id', '=', id)
      .where('position', '>', after.position)
      .orderBy('position'),
  )
  for await (const row of rows) exports.set(row.position, exportOf(row))
  return exports
}

export async function recordsOf(
  db: Db,
  { migrationId, position }: ExportTask,
): Promise<RepositoryRecords | null> {
  const row = await db
    .selectFrom('record_exports')
    .selectAll()
    .where('migration_id', '=', migrationId)
    .where('position', '=', position)
    .executeTakeFirst()
  return row ? exportOf(row).records : null
}

function exportOf(row: Row<'record_exports'>) {
  const losses: readonly Loss[] = row.losses === null ? [] : JSON.parse(row.losses)
  const progress = {
    done: row.records_done,
    expected: row.records_expected,
    /** No request is sent to the forge before this time. */
    waitingUntil: row.waiting_until,
    /** Why it waits. */
    waitingFor: row.waiting_for,
    startedAt: row.started_at,
    /** When its progress was last recorded, before its end. */
    progressAt: row.progress_at,
    /** Null, like `records`, until all are stored. */
    finishedAt: row.finished_at,
    asOf: row.as_of,
    losses,
  }
  if (row.rows_key === null) return { progress, records: null }
  const records = {
    rowsKey: row.rows_key,
    /** Null if there are none, or if they are excluded. */
    attachmentsKey: row.attachments_key,
    assetsKey: row.assets_key,
    /** All records are at least as new as this, except those in `losses`. A forge provides no snapshot. */
    asOf: row.as_of ?? 0,
    /** What the forge does not provide and what archives cannot represent. */
    losses,
    /** Exported before and unchanged since. */
    reused: row.reused === 1,
    /** The number of issues and pull requests. */
    count: row.records_done,
  }
  return { progress, records }
}

/** Records progress, and that the export no longer waits for the forge. */
export const saveRecordsProgress = (
  db: Db,
  task: ExportTask,
  {
    done,
    expected,
    startedAt,
    now,
  }: { done: number; expected: number; startedAt: number; now: number },
): Promise<void> =>
  putRow(db, task, startedAt, {
    progress_at: now,
    records_done: done,
    records_expected: expected,
    waiting_until: null,
    waiting_for: null,
  })

export const saveRecordsWaiting = (
  db: Db,
  task: ExportTask,
  { until, reason, now }: { until: number; reason: string; now: number },
): Promise<void> => putRow(db, task, now, { waiting_until: until, waiting_for: reason })

/** Records that all records were read and stored. */
export const storeRecords = (
  tx: Db,
  task: ExportTask,
  records: RepositoryRecords,
  now: number,
): Promise<void> =>
  putRow(tx, task, now, {
    waiting_until: null,
    waiting_for: null,
    records_done: records.count,
    records_expected: records.count,
    finished_at: now,
    rows_key: records.rowsKey,
    attachments_key: records.attachmentsKey,
    assets_key: records.assetsKey,
    as_of: records.asOf,
    losses: JSON.stringify(records.losses),
    reused: Number(records.reused),
  })

async function putRow(
  db: Db,
  { migrationId, position }: ExportTask,
  startedAt: number,
  columns: Partial<Row<'record_exports'>>,
): Promise<void> {
  await db
    .insertInto('record_exports')
    .values({ migration_id: migrationId, position, started_at: startedAt, ...columns })
    .onConflict((oc) => oc.columns(['migration_id', 'position']).doUpdateSet(columns))
    .execute()
}

/** Returns the keys of all blobs. */
export const keysOfRecords = (records: RepositoryRecords | null): string[] =>
  records ? [records.rowsKey, ...archivedKeysOf(records)] : []

/** Returns the keys of the segments in the archive, in order. */
export const archivedKeysOf = (records: RepositoryRecords | null | undefined): string[] =>
  [records?.attachmentsKey, records?.assetsKey].filter((key) => typeof key === 'string')
