import { batchesOf } from '@godwit/lib/chunks'
import { type RawBuilder, sql } from 'kysely'
import { type Db, type Row, statementBatches } from '../db/database.ts'
import type { ExportTask, Migration, MigrationOptions } from './migration.ts'
import { readColumns } from './migration-store.ts'
import { countOutcome } from './outcome-counts.ts'
import { EMPTY_ROW, outcomesOf, type Reused } from './outcomes.ts'
import { fullNameAt } from './repository-list-store.ts'
import type { Examined } from './segment-store.ts'

export interface Exported {
  /** Null if git data is excluded. */
  segmentKey: string | null
  reused: boolean
  bytes: number
  startedAt: number
}

export type Outcome = Exported | { reason: string }

/** Records the progress of a repository whose export has not ended. */
export async function recordProgress(
  db: Db,
  { migrationId, position }: ExportTask,
  progress: Examined & { bytesDone: number; startedAt: number; now: number },
): Promise<void> {
  const columns = {
    started_at: progress.startedAt,
    bytes_expected: progress.bytes,
    bytes_done: progress.bytesDone,
    fingerprint: progress.fingerprint,
    progress_at: progress.now,
  }
  await db
    .insertInto('repository_exports')
    .values({ ...EMPTY_ROW, migration_id: migrationId, position, ...columns })
    .onConflict((oc) =>
      oc
        .columns(['migration_id', 'position'])
        .doUpdateSet(columns)
        .where('repository_exports.outcome', 'is', null),
    )
    .execute()
}

/** Records an outcome. Returns how many repositories of the migration have not ended. */
export async function recordOutcome(
  tx: Db,
  { migrationId, position }: ExportTask,
  outcome: Outcome,
  now: number,
): Promise<number> {
  if ('segmentKey' in outcome)
    return recordExported(tx, migrationId, [{ ...outcome, position, finishedAt: now }], now)
  const { options } = await readColumns(tx, migrationId, ['options'])
  // A repository that cannot be exported is skipped if the migration allows partial archives; otherwise it fails.
  const end = (JSON.parse(options) as MigrationOptions).allowPartial ? 'skipped' : 'failed'
  const { reason } = outcome
  return recordNotExported(tx, migrationId, [position], { outcome: end, reason, now })
}

/** Records exported repositories in the order in which they ended. Returns how many have not ended. */
export async function recordExported(
  tx: Db,
  migrationId: number,
  exported: readonly (Exported & { position: number; finishedAt: number })[],
  now: number,
): Promise<number> {
  const bytes = exported.reduce((sum, each) => sum + each.bytes, 0)
  const reused = exported.filter((each) => each.reused).length
  const rows = exported.map(({ segmentKey, ...each }) => ({
    position: each.position,
    outcome: 'exported',
    segment_key: segmentKey,
    warning: sql<string | null>`(select warning from segments where key = ${segmentKey})`,
    missing_lfs: sql<number>`coalesce((select missing_lfs from segments where key = ${segmentKey}), 0)`,
    reused: Number(each.reused),
    bytes_expected: each.bytes,
    bytes_done: each.bytes,
    started_at: each.startedAt,
    finished_at: each.finishedAt,
  }))
  const remaining = await putEnds(tx, migrationId, rows, { reused, bytes })
  for (const [name, group] of Object.entries(Object.groupBy(exported, outcomeOf)))
    await countOutcome(tx, `repositories ${name as ReturnType<typeof outcomeOf>}`, {
      now,
      bytes: group.reduce((sum, each) => sum + each.bytes, 0),
      count: group.length,
    })
  return remaining
}

const outcomeOf = ({ reused }: Exported) => (reused ? 'reused' : 'exported')

/** Marks skipped repositories as failed. Called when the migration fails because nothing is left to export. */
export async function failSkipped(tx: Db, migrationId: number): Promise<void> {
  await tx
    .updateTable('repository_exports')
    .set({ outcome: 'failed' })
    .where('migration_id', '=', migrationId)
    .where('outcome', '=', 'skipped')
    .execute()
  await tx
    .updateTable('migrations')
    .set((eb) => ({
      failed_count: eb('failed_count', '+', eb.ref('skipped_count')),
      skipped_count: 0,
    }))
    .where('id', '=', migrationId)
    .execute()
}

export interface RepositoryWithMissingBlobs {
  position: number
  /** Its segments that are lost. */
  segmentKeys: readonly string[]
  reason: string
}

/** Marks exported repositories as failed, because their segments are lost. */
export async function failWithMissingBlobs(
  tx: Db,
  migrationId: number,
  missing: readonly RepositoryWithMissingBlobs[],
  now: number,
): Promise<void> {
  const outcomes = await outcomesOf(tx, { id: migrationId })
  const before = missing.map(({ position }) => outcomes.get(position)!)
  await addToTotals(tx, migrationId, {
    ...NO_CHANGE,
    failed: missing.length,
    reused: -before.filter(({ reused }) => reused).length,
    bytes: -before.reduce((sum, { bytesDone }) => sum + bytesDone, 0),
  })
  const rows = missing.map(({ position, reason }, at) => ({
    ...EMPTY_ROW,
    ...{ position, outcome: 'failed', reason, finished_at: now, finished_order: before[at]!.order },
  }))
  await putRows(tx, migrationId, rows)
}

export interface ReusedSegment extends Exported {
  segmentKey: string
  warning?: string | null | undefined
  missingLfs?: number
}

/** Limits the size of a row. */
const MAX_REUSED_PER_ROW = 500

/** Records the outcomes of many unchanged repositories at once. */
export async function recordReused(
  tx: Db,
  migrationId: number,
  reused: ReadonlyMap<number, ReusedSegment>,
  now: number,
): Promise<void> {
  if (reused.size === 0) return
  const bytes = reused.values().reduce((sum, { bytes: each }) => sum + each, 0)
  const counts = { ...NO_CHANGE, ended: reused.size, reused: reused.size, bytes }
  const { finished } = await addToTotals(tx, migrationId, counts)
  let order = finished - reused.size + 1
  for (const batch of batchesOf([...reused], MAX_REUSED_PER_ROW)) {
    const list = batch.map(
      ([position, { segmentKey, startedAt, warning, missingLfs = 0, ...each }]): Reused => {
        const entry = [position, segmentKey, each.bytes, now - startedAt] as const
        return warning ? [...entry, warning, missingLfs] : [...entry]
      },
    )
    await tx
      .insertInto('reused_repositories')
      .values({
        migration_id: migrationId,
        first_order: order,
        finished_at: now,
        repositories: JSON.stringify(list),
      })
      .execute()
    order += batch.length
  }
  await countOutcome(tx, 'repositories reused', { now, bytes, count: reused.size })
}

/** Returns how many repositories of the migration have not ended. */
export async function recordNotExported(
  tx: Db,
  migrationId: number,
  positions: readonly number[],
  { outcome, reason, now }: { outcome: 'skipped' | 'failed'; reason: string; now: number },
): Promise<number> {
  const count = positions.length
  const rows = positions.map((position) => ({ position, outcome, reason, finished_at: now }))
  const remaining = await putEnds(tx, migrationId, rows, { [outcome]: count })
  await countOutcome(tx, `repositories ${outcome}`, { now, count })
  return remaining
}

const NO_CHANGE = { ended: 0, reused: 0, skipped: 0, failed: 0, bytes: 0 }

async function addToTotals(
  tx: Db,
  migrationId: number,
  { ended, reused, skipped, failed, bytes }: typeof NO_CHANGE,
) {
  const { remaining, repository_count } = await tx
    .updateTable('migrations')
    .set((eb) => ({
      remaining: eb('remaining', '-', ended),
      reused_count: eb('reused_count', '+', reused),
      skipped_count: eb('skipped_count', '+', skipped),
      failed_count: eb('failed_count', '+', failed),
      bytes_done: eb('bytes_done', '+', bytes),
    }))
    .where('id', '=', migrationId)
    .returning(['remaining', 'repository_count'])
    .executeTakeFirstOrThrow()
  return { remaining, finished: repository_count - remaining }
}

type EndColumns = Partial<Omit<Row<'repository_exports'>, 'warning' | 'missing_lfs'>> & {
  position: number
  warning?: RawBuilder<string | null> | null
  missing_lfs?: RawBuilder<number> | number
}

/** Puts the rows of repositories in the order in which they ended. Returns how many of the migration have not ended. */
async function putEnds(
  tx: Db,
  migrationId: number,
  rows: readonly EndColumns[],
  counts: Partial<typeof NO_CHANGE>,
): Promise<number> {
  const ended = rows.length
  const totals = await addToTotals(tx, migrationId, { ...NO_CHANGE, ...counts, ended })
  const first = totals.finished - ended + 1
  const ordered = rows.map((row, at) => ({ ...row, finished_order: first + at }))
  await putRows(tx, migrationId, ordered)
  return totals.remaining
}

/** Inserts rows, or changes the columns of existing ones. All rows must have the same columns. */
async function putRows(tx: Db, migrationId: number, rows: readonly EndColumns[]): Promise<void> {
  for (const batch of statementBatches(rows))
    await tx
      .insertInto('repository_exports')
      .values(batch.map((row) => ({ ...EMPTY_ROW, migration_id: migrationId, ...row })))
      .onConflict((oc) =>
        oc.columns(['migration_id', 'position']).doUpdateSet((eb) => {
          const columns = Object.keys(batch[0]!) as (keyof EndColumns)[]
          return Object.fromEntries(columns.map((column) => [column, eb.ref(`excluded.${column}`)]))
        }),
      )
      .execute()
}

/** Returns the first repositories that a migration could not export, with reasons. */
export async function notExportedFrom(db: Db, { id }: Pick<Migration, 'id'>, atMost: number) {
  const rows = await db
    .selectFrom('repository_exports')
    .select(['position', 'reason'])
    .where('migration_id', '=', id)
    .where('reason', 'is not', null)
    .orderBy('position')
    .limit(atMost)
    .execute()
  return Promise.all(
    rows.map(async ({ position, reason }) => ({
      fullName: await fullNameAt(db, id, position),
      reason: reason!,
    })),
  )
}

const RECENT_EXPORTS = 50

/** Returns how long the latest exports of single repositories took. */
export async function recentExports(db: Db): Promise<{ bytes: number; ms: number }[]> {
  const rows = await db
    .selectFrom('repository_exports')
    .select(['bytes_done', 'started_at', 'finished_at'])
    // Literals, because the partial index requires them. Exports without git data take no time, and do not count.
    .where('outcome', '=', sql.lit('exported'))
    .where('reused', '=', sql.lit(0))
    .where('started_at', 'is not', null)
    .where('segment_key', 'is not', null)
    .orderBy('migration_id', 'desc')
    .limit(RECENT_EXPORTS)
    .execute()
  return rows.map((row) => ({ bytes: row.bytes_done, ms: row.finished_at! - row.started_at! }))
}
