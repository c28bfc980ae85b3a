import { countRows, type Db, type Row, updateRow } from '../db/database.ts'
import { type MigrationState, shownState } from '../migrations/migration.ts'
import { unfinishedLiterals } from '../migrations/migration-store.ts'
import type { Page } from '../migrations/repository-list-store.ts'
import type { Schedule, SkippedRepository } from './schedule-store.ts'

/** Another process took this due time, or the schedule was changed or paused. The transaction of this run must be rolled back. */
export class RunAlreadyTaken extends Error {
  override name = 'RunAlreadyTaken'
}

/** The migration of the previous run has not ended. */
export class PreviousRunUnfinished extends Error {
  override name = 'PreviousRunUnfinished'
  constructor(migrationId: number) {
    super(`migration ${migrationId} of this schedule has not ended`)
  }
}

/**
 * Locks the row until the caller's transaction ends, and moves a due schedule to its `next` time. Throws RunAlreadyTaken if the schedule
 * was changed, or if it is due and was moved or paused, since the caller read it: so only one caller succeeds.
 */
export async function takeSchedule(tx: Db, { id, nextRunAt, updatedAt }: Schedule, next?: number) {
  const { numUpdatedRows } = await tx
    .updateTable('schedules')
    .set({ updated_at: updatedAt, ...(next !== undefined && { next_run_at: next }) })
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    .$if(next !== undefined, (due) =>
      due.where('next_run_at', '=', nextRunAt).where('paused_at', 'is', null),
    )
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new RunAlreadyTaken()
}

/** Pauses the schedule and records why. The caller's transaction has already locked the row. */
export async function pauseSchedule(
  tx: Db,
  { id, updatedAt }: Schedule,
  reason: string,
  now: number,
): Promise<void> {
  const updated_at = Math.max(now, updatedAt + 1)
  await updateRow(tx, 'schedules', id, { paused_at: now, paused_reason: reason, updated_at })
}

/** Replaces the next due time, unless it was changed since the caller read it. */
export async function replaceNextRun(db: Db, { id, nextRunAt }: Schedule, next: number) {
  const update = db.updateTable('schedules').set({ next_run_at: next }).where('id', '=', id)
  await update.where('next_run_at', '=', nextRunAt).execute()
}

/** Throws PreviousRunUnfinished if a migration of the schedule has not ended. */
export async function requirePreviousRunEnded(db: Db, { id }: Schedule): Promise<void> {
  const row = await db
    .selectFrom('schedule_runs')
    .innerJoin('migrations', 'migrations.id', 'migration_id')
    .select('migrations.id')
    .where('schedule_id', '=', id)
    .where('state', 'in', unfinishedLiterals)
    .executeTakeFirst()
  if (row) throw new PreviousRunUnfinished(row.id)
}

export interface NewRun {
  /** Null if a person started the run. */
  dueAt: number | null
  createdAt: number
  outcome: 'started' | 'skipped' | 'failed'
  migrationId?: number
  reason?: string
  skipped: readonly SkippedRepository[]
}

/** The newest runs of a schedule are kept. Older ones are deleted, unless they are unfinished or have an archive. */
const MAX_RUNS = 200

/** Records a run and deletes old ones. */
export async function insertRun(tx: Db, { id }: Schedule, run: NewRun): Promise<ScheduleRun> {
  const inserted = await tx
    .insertInto('schedule_runs')
    .values({
      schedule_id: id,
      due_at: run.dueAt,
      created_at: run.createdAt,
      migration_id: run.migrationId ?? null,
      outcome: run.outcome,
      reason: run.reason ?? null,
      skipped: JSON.stringify(run.skipped),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await deleteOldRuns(tx, id)
  const state = run.outcome === 'started' ? 'pending' : null
  return toRun({ ...inserted, state, migration_reason: null, archive_expires_at: null })
}

async function deleteOldRuns(tx: Db, scheduleId: number): Promise<void> {
  const newestToDelete = await tx
    .selectFrom('schedule_runs')
    .select('id')
    .where('schedule_id', '=', scheduleId)
    .orderBy('id', 'desc')
    .offset(MAX_RUNS)
    .limit(1)
    .executeTakeFirst()
  if (!newestToDelete) return
  await tx
    .deleteFrom('schedule_runs')
    .where('schedule_id', '=', scheduleId)
    .where('id', '<=', newestToDelete.id)
    .where(({ not, exists, selectFrom }) => {
      const migration = selectFrom('migrations')
        .select('migrations.id')
        .whereRef('migrations.id', '=', 'migration_id')
      const isNeeded = migration.where((eb) =>
        eb('archive_expires_at', 'is not', null).or('state', 'in', unfinishedLiterals),
      )
      return not(exists(isNeeded))
    })
    .execute()
}

/** Returns one page of the schedule's runs, newest first. */
export async function listRuns(db: Db, { id }: Pick<Schedule, 'id'>, { offset, limit }: Page) {
  const query = selectRuns(db).where('schedule_id', '=', id).orderBy('schedule_runs.id', 'desc')
  const rows = await query.limit(limit).offset(offset).execute()
  return rows.map(toRun)
}

export const countRuns = (db: Db, { id }: Pick<Schedule, 'id'>): Promise<number> =>
  countRows(db.selectFrom('schedule_runs').where('schedule_id', '=', id))

/** Returns the newest run of each schedule, by the schedule's id. */
export async function lastRuns(
  db: Db,
  scheduleIds: readonly number[],
): Promise<Map<number, ScheduleRun>> {
  if (scheduleIds.length === 0) return new Map()
  const rows = await selectRuns(db)
    .where('schedule_runs.id', 'in', (eb) =>
      eb
        .selectFrom('schedule_runs')
        .select((eb) => eb.fn.max('id').as('id'))
        .where('schedule_id', 'in', scheduleIds)
        .groupBy('schedule_id'),
    )
    .execute()
  return new Map(rows.map((row) => [row.schedule_id, toRun(row)]))
}

function selectRuns(db: Db) {
  return db
    .selectFrom('schedule_runs')
    .leftJoin('migrations', 'migrations.id', 'migration_id')
    .selectAll('schedule_runs')
    .select(['state', 'migrations.reason as migration_reason', 'archive_expires_at'])
}

type RunRow = Row<'schedule_runs'> & {
  [Column in 'state' | 'archive_expires_at']: Row<'migrations'>[Column] | null
} & { migration_reason: string | null }

export type ScheduleRun = ReturnType<typeof toRun>

function toRun(row: RunRow) {
  const { state, outcome } = row
  return {
    id: row.id,
    /** Null if a person started the run. */
    dueAt: row.due_at,
    /** When the run was recorded. */
    createdAt: row.created_at,
    migrationId: row.migration_id,
    /** The state of its migration; `skipped` if the previous run had not ended, `failed` also if no migration could be started. */
    state:
      state === null
        ? (outcome as 'skipped' | 'failed')
        : shownState(state as MigrationState, row.migration_reason),
    /** Why it failed or was skipped. */
    reason: row.reason ?? row.migration_reason,
    skipped: JSON.parse(row.skipped) as SkippedRepository[],
    /** Whether its archive can be downloaded. */
    hasArchive: row.archive_expires_at !== null,
  }
}
