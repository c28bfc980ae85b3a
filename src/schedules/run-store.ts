import type { Db } from '../db/database.ts'
import { countRows } from '../db/database.ts'
import type { MigrationsTable, Row, ScheduleRunsTable } from '../db/tables.ts'
import { type MigrationState, shownState } from '../migrations/migration.ts'
import { unfinishedLiterals } from '../migrations/migration-store.ts'
import type { Page } from '../migrations/snapshot-store.ts'
import type { Schedule, ScheduleRun, SkippedRepository } from './schedule.ts'

/** Another process took this due time, or the schedule was changed: this run must write nothing. */
export class RunAlreadyTaken extends Error {
  override name = 'RunAlreadyTaken'
}

/** The previous run has not ended. */
export class StillRunning extends Error {
  override name = 'StillRunning'
  readonly migrationId: number

  constructor(migrationId: number) {
    super(`migration ${migrationId} of this schedule has not ended`)
    this.migrationId = migrationId
  }
}

/**
 * Moves the schedule to its next due time. Throws RunAlreadyTaken unless it is still due at the time that the caller read, so only one
 * caller succeeds. The row is locked until the caller's transaction ends.
 */
export async function takeDueTime(
  tx: Db,
  { id, nextRunAt, updatedAt }: Schedule,
  next: number,
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('schedules')
    .set({ next_run_at: next })
    .where('id', '=', id)
    .where('next_run_at', '=', nextRunAt)
    .where('updated_at', '=', updatedAt)
    .where('paused_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new RunAlreadyTaken()
}

/** Locks the row until the caller's transaction ends. Throws RunAlreadyTaken if the schedule was changed since the caller read it. */
export async function lockSchedule(tx: Db, { id, updatedAt }: Schedule): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('schedules')
    .set({ updated_at: updatedAt })
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new RunAlreadyTaken()
}

export async function stopSchedule(
  tx: Db,
  { id, updatedAt }: Schedule,
  reason: string,
  now: number,
): Promise<void> {
  await tx
    .updateTable('schedules')
    .set({
      paused_at: now,
      paused_reason: reason,
      updated_at: Math.max(now, updatedAt + 1),
    })
    .where('id', '=', id)
    .execute()
}

/** Corrects the next due time, unless it was changed since the caller read it. */
export async function postponeSchedule(
  db: Db,
  { id, nextRunAt }: Schedule,
  next: number,
): Promise<void> {
  await db
    .updateTable('schedules')
    .set({ next_run_at: next })
    .where('id', '=', id)
    .where('next_run_at', '=', nextRunAt)
    .execute()
}

export async function unfinishedRun(db: Db, { id }: Schedule): Promise<number | undefined> {
  const row = await db
    .selectFrom('schedule_runs')
    .innerJoin('migrations', 'migrations.id', 'migration_id')
    .select('migration_id')
    .where('schedule_id', '=', id)
    .where('state', 'in', unfinishedLiterals)
    .executeTakeFirst()
  return row?.migration_id ?? undefined
}

export interface NewRun {
  dueAt: number | null
  notedAt: number
  outcome: 'started' | 'skipped' | 'failed'
  migrationId?: number
  reason?: string
  skipped?: readonly SkippedRepository[]
}

/** Older runs are deleted, unless they are unfinished or their archive exists. */
const MAX_RUNS = 200

export async function insertRun(tx: Db, { id }: Schedule, run: NewRun): Promise<ScheduleRun> {
  const { skipped = [] } = run
  const inserted = await tx
    .insertInto('schedule_runs')
    .values({
      schedule_id: id,
      due_at: run.dueAt,
      noted_at: run.notedAt,
      migration_id: run.migrationId ?? null,
      outcome: run.outcome,
      reason: run.reason ?? null,
      skipped: JSON.stringify(skipped),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await deleteOldRuns(tx, id)
  const state = run.outcome === 'started' ? 'pending' : null
  return runOf({ ...inserted, state, migration_reason: null, archive_expires_at: null })
}

async function deleteOldRuns(tx: Db, scheduleId: number): Promise<void> {
  const oldest = await tx
    .selectFrom('schedule_runs')
    .select('id')
    .where('schedule_id', '=', scheduleId)
    .orderBy('id', 'desc')
    .offset(MAX_RUNS)
    .limit(1)
    .executeTakeFirst()
  if (!oldest) return
  await tx
    .deleteFrom('schedule_runs')
    .where('schedule_id', '=', scheduleId)
    .where('id', '<=', oldest.id)
    .where((is) =>
      is.not(
        is.exists(
          is
            .selectFrom('migrations')
            .select('migrations.id')
            .whereRef('migrations.id', '=', 'migration_id')
            .where((has) =>
              has.or([
                has('archive_expires_at', 'is not', null),
                has('state', 'in', unfinishedLiterals),
              ]),
            ),
        ),
      ),
    )
    .execute()
}

/** Newest first. */
export async function listRuns(
  db: Db,
  { id }: Pick<Schedule, 'id'>,
  { offset, limit }: Page,
): Promise<ScheduleRun[]> {
  const rows = await runs(db)
    .where('schedule_id', '=', id)
    .orderBy('schedule_runs.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(runOf)
}

export function countRuns(db: Db, { id }: Pick<Schedule, 'id'>): Promise<number> {
  return countRows(db.selectFrom('schedule_runs').where('schedule_id', '=', id))
}

/** Returns the newest run of each schedule, by the schedule's id. */
export async function lastRuns(
  db: Db,
  scheduleIds: readonly number[],
): Promise<Map<number, ScheduleRun>> {
  if (scheduleIds.length === 0) return new Map()
  const rows = await runs(db)
    .where('schedule_runs.id', 'in', (newest) =>
      newest
        .selectFrom('schedule_runs')
        .select((of) => of.fn.max('id').as('id'))
        .where('schedule_id', 'in', scheduleIds)
        .groupBy('schedule_id'),
    )
    .execute()
  return new Map(rows.map((row) => [row.schedule_id, runOf(row)]))
}

function runs(db: Db) {
  return db
    .selectFrom('schedule_runs')
    .leftJoin('migrations', 'migrations.id', 'migration_id')
    .selectAll('schedule_runs')
    .select(['state', 'migrations.reason as migration_reason', 'archive_expires_at'])
}

type RunRow = Row<ScheduleRunsTable> & {
  [Of in 'state' | 'archive_expires_at']: Row<MigrationsTable>[Of] | null
} & { migration_reason: string | null }

function runOf(row: RunRow): ScheduleRun {
  const { state, outcome } = row
  return {
    id: row.id,
    dueAt: row.due_at,
    notedAt: row.noted_at,
    migrationId: row.migration_id,
    state:
      state === null
        ? (outcome as 'skipped' | 'failed')
        : shownState(state as MigrationState, row.migration_reason),
    reason: row.reason ?? row.migration_reason,
    skipped: JSON.parse(row.skipped) as SkippedRepository[],
    hasArchive: row.archive_expires_at !== null,
  }
}
