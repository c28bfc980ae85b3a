import type { Account, Scope } from '../accounts/account.ts'
import { findAccountsById } from '../accounts/account-store.ts'
import { countRows, type Db, type Row } from '../db/database.ts'
import type { MigrationOptions } from '../migrations/migration.ts'
import type { Page } from '../migrations/repository-list-store.ts'
import type { Timing } from './next-run.ts'

export interface ScheduleRequest extends Timing {
  /** The name of its migrations. */
  name: string | null
  /** Each run migrates all repositories that the owner may migrate then. */
  isForAll: boolean
  /** Full names; empty if `isForAll`. */
  repositories: string[]
  options: MigrationOptions
  keep: number
}

/** A migration that is started every day or every week. */
export type Schedule = Awaited<ReturnType<typeof toSchedules>>[number]

export type SkippedRepository = { fullName: string; reason: string }

/** An archive that a schedule keeps in addition to the newest `keep`, because no newer one contains these repositories. */
export interface ProtectedArchive {
  migrationId: number
  /** When its migration was started. */
  createdAt: number
  /** Full names. */
  repositories: string[]
}

export interface ScheduleChange extends ScheduleRequest {
  runsAs: Account
  nextRunAt: number
  isPaused: boolean
  now: number
}

/** Returns the id of the new schedule. */
export async function insertSchedule(tx: Db, schedule: ScheduleChange & { owner: Account }) {
  const { owner, isPaused, now } = schedule
  const { id } = await tx
    .insertInto('schedules')
    .values({
      ...columnsOf(schedule),
      owner_id: owner.id,
      paused_at: isPaused ? now : null,
      created_at: now,
      updated_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const columnsOf = (change: ScheduleChange) => ({
  name: change.name,
  all_repositories: Number(change.isForAll),
  repositories: JSON.stringify(change.repositories),
  options: JSON.stringify(change.options),
  every: change.every,
  weekday: change.weekday,
  at: change.at,
  time_zone: change.timeZone,
  keep: change.keep,
  runs_as_id: change.runsAs.id,
  next_run_at: change.nextRunAt,
})

/** Changes a schedule. Returns false if it was deleted, changed or run since the caller read it. */
export async function updateSchedule(
  db: Db,
  { id, updatedAt, nextRunAt }: Pick<Schedule, 'id' | 'updatedAt' | 'nextRunAt'>,
  change: ScheduleChange,
): Promise<boolean> {
  const { isPaused, now } = change
  const { numUpdatedRows } = await db
    .updateTable('schedules')
    .set((eb) => ({
      ...columnsOf(change),
      ...(isPaused
        ? { paused_at: eb.fn.coalesce('paused_at', eb.val(now)) }
        : { paused_at: null, paused_reason: null }),
      updated_at: Math.max(now, updatedAt + 1),
    }))
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    // A run updates `next_run_at`, but not `updated_at`.
    .where('next_run_at', '=', nextRunAt)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes a schedule, but not its migrations. Returns false if the schedule does not exist. */
export async function deleteSchedule(db: Db, { owner }: Scope, id: number): Promise<boolean> {
  const deletion = db.deleteFrom('schedules').where('id', '=', id).where('owner_id', '=', owner.id)
  const { numDeletedRows } = await deletion.executeTakeFirst()
  return numDeletedRows === 1n
}

export async function findSchedule(db: Db, scope: Scope, id: number) {
  const rows = await schedulesOf(db, scope).selectAll().where('id', '=', id).execute()
  return (await toSchedules(db, rows))[0]
}

const schedulesOf = (db: Db, { owner }: Scope) =>
  db.selectFrom('schedules').where('owner_id', '=', owner.id)

/** Returns a page of the owner's schedules, oldest first. */
export async function listSchedules(db: Db, scope: Scope, { offset, limit }: Page) {
  const page = schedulesOf(db, scope).orderBy('id').limit(limit).offset(offset)
  return toSchedules(db, await page.selectAll().execute())
}

export const countSchedules = (db: Db, scope: Scope): Promise<number> =>
  countRows(schedulesOf(db, scope))

/** Returns the due schedules of all accounts, the longest overdue first. */
export async function dueSchedules(db: Db, { now, limit }: { now: number; limit: number }) {
  const query = activeSchedules(db).where('next_run_at', '<=', now).orderBy('next_run_at')
  const rows = await query.limit(limit).execute()
  return toSchedules(db, rows)
}

const DAY_MS = 24 * 60 * 60_000

/** Returns the active schedules whose next run is more than one period ahead: it was computed while the clock was wrong. */
export async function schedulesDueBeyondPeriod(db: Db, now: number): Promise<Schedule[]> {
  const rows = await activeSchedules(db)
    .where((eb) =>
      eb('next_run_at', '>', now + 7 * DAY_MS).or(
        eb('every', '=', 'day').and('next_run_at', '>', now + DAY_MS),
      ),
    )
    .execute()
  return toSchedules(db, rows)
}

const activeSchedules = (db: Db) =>
  db.selectFrom('schedules').selectAll().where('paused_at', 'is', null)

/** Counts the schedules of all accounts. An active schedule that was due before `overdueBefore` counts as overdue only. */
export async function countSchedulesByState(db: Db, overdueBefore: number) {
  const rows = await db
    .selectFrom('schedules')
    .select((eb) => [
      eb
        .case()
        .when('paused_at', 'is not', null)
        .then('paused' as const)
        .when('next_run_at', '<', overdueBefore)
        .then('overdue' as const)
        .else('active' as const)
        .end()
        .as('state'),
      eb.fn.countAll<number>().as('total'),
    ])
    .groupBy('state')
    .execute()
  const counts = { active: 0, paused: 0, overdue: 0 }
  for (const { state, total } of rows) counts[state] = total
  return counts
}

async function toSchedules(db: Db, rows: readonly Row<'schedules'>[]) {
  const accounts = await findAccountsById(
    db,
    rows.flatMap(({ owner_id, runs_as_id }) => [owner_id, runs_as_id]),
  )
  return rows.map((row) => ({
    id: row.id,
    /** The owner of the migrations: a person or an organization. */
    owner: accounts.get(row.owner_id)!,
    /** The account with whose permissions each run starts its migration: it created or last resumed the schedule. */
    runsAs: accounts.get(row.runs_as_id)!,
    name: row.name,
    isForAll: row.all_repositories === 1,
    repositories: JSON.parse(row.repositories) as string[],
    options: JSON.parse(row.options) as MigrationOptions,
    every: row.every as Timing['every'],
    weekday: row.weekday as Timing['weekday'],
    at: row.at,
    timeZone: row.time_zone,
    keep: row.keep,
    /** Has no meaning while the schedule is paused. */
    nextRunAt: row.next_run_at,
    isPaused: row.paused_at !== null,
    /** Why the service paused it; null if a person did. */
    pausedReason: row.paused_reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }))
}
