import type { Loss } from '@godwit/lib/findings'
import { nextTurn } from '@godwit/lib/turns'
import { type Db, type Row, rowsInPages } from '../db/database.ts'
import type { ExportTask, Migration } from './migration.ts'

/** The result of one repository of a migration so far. */
export type RepositoryOutcome = ReturnType<typeof outcomeOf>

const ROWS_AT_ONCE = 500

/** Returns results by position. Repositories whose export has not begun are missing. */
export async function outcomesOf(
  db: Db,
  { id }: Pick<Migration, 'id'>,
): Promise<Map<number, RepositoryOutcome>> {
  const outcomes = new Map<number, RepositoryOutcome>()
  const reused = await db
    .selectFrom('reused_repositories')
    .selectAll()
    .where('migration_id', '=', id)
    .execute()
  for (const row of reused) {
    await nextTurn()
    for (const [position, outcome] of reusedIn(row)) outcomes.set(position, outcome)
  }
  const exports = rowsInPages(ROWS_AT_ONCE, { position: -1 }, (after) =>
    db
      .selectFrom('repository_exports')
      .selectAll()
      .where('migration_id', '=', id)
      .where('position', '>', after.position)
      .orderBy('position'),
  )
  for await (const row of exports) outcomes.set(row.position, outcomeOf(row))
  return outcomes
}

/** An element of `reused_repositories.repositories`. */
export type Reused = [
  position: number,
  segmentKey: string,
  bytes: number,
  tookMs: number,
  warning?: string,
  missingLfs?: number,
]

function reusedIn(row: Row<'reused_repositories'>): [number, RepositoryOutcome][] {
  const reused = JSON.parse(row.repositories) as Reused[]
  return reused.map(([position, segmentKey, bytes, tookMs, warning, missingLfs], at) => [
    position,
    {
      ...NOT_BEGUN,
      outcome: 'exported',
      segmentKey,
      warning: warning ?? null,
      missingLfs: missingLfs ?? 0,
      startedAt: row.finished_at - tookMs,
      finishedAt: row.finished_at,
      order: row.first_order + at,
      bytesExpected: bytes,
      bytesDone: bytes,
      reused: true,
    },
  ])
}

export const EMPTY_ROW = {
  outcome: null,
  segment_key: null,
  reason: null,
  warning: null,
  missing_lfs: 0,
  started_at: null,
  finished_at: null,
  finished_order: null,
  bytes_expected: null,
  bytes_done: 0,
  progress_at: null,
  reused: 0,
  fingerprint: null,
}

export const NOT_BEGUN = outcomeOf(EMPTY_ROW)

function outcomeOf(row: Omit<Row<'repository_exports'>, 'migration_id' | 'position'>) {
  return {
    /** `failed` if the migration fails because of it, `skipped` if it continues without it, null until the export has ended. */
    outcome: row.outcome as 'exported' | 'skipped' | 'failed' | null,
    segmentKey: row.segment_key,
    /** Why it was not exported. */
    reason: row.reason,
    /** Shown to the owner although it was exported. */
    warning: row.warning,
    /** The number of LFS objects that its host does not have. */
    missingLfs: row.missing_lfs,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    /** Its number in the order in which the repositories ended. */
    order: row.finished_order,
    bytesExpected: row.bytes_expected,
    bytesDone: row.bytes_done,
    /** When its progress was last recorded, before its end. */
    progressAt: row.progress_at,
    reused: row.reused === 1,
  }
}

/** The stored records of one repository: the blob with their rows, and the segments of their files. */
export type RepositoryRecords = NonNullable<ReturnType<typeof exportOf>['records']>

/** Whether neither the git data nor the records have changed. */
export const isFullyReused = (
  git: { reused: boolean },
  records: Pick<RepositoryRecords, 'reused'> | null | undefined,
): boolean => git.reused && records?.reused !== false

export type RecordsProgress = ReturnType<typeof exportOf>['progress']

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
