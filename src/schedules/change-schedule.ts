import type { Account, Scope } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import {
  type FieldError,
  InvalidRequest,
  NotFound,
  withNamesInsteadOfIndexes,
} from '../migrations/errors.ts'
import { requireLockable } from '../migrations/locks.ts'
import type { MigrationOptions } from '../migrations/migration.ts'
import { lockScope } from '../migrations/migration-store.ts'
import { readSnapshot, type StartParts } from '../migrations/start-migration.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { isTimeZone, nextRun } from './next-run.ts'
import type { Period, Schedule, ScheduleRequest, Weekday } from './schedule.ts'
import { countSchedules, findSchedule, insertSchedule, updateSchedule } from './schedule-store.ts'

export interface ScheduleParts extends StartParts {
  db: Db
  maxSchedules: number
}

/** A request to create or change a schedule. An omitted field gets its default, or keeps its value in an existing schedule. */
export interface ScheduleInput {
  repositories?: string[]
  options: Partial<MigrationOptions>
  every?: Period
  weekday?: Weekday | null
  at?: string
  timeZone?: string
  keep?: number
  isPaused?: boolean
}

export const DEFAULT_KEEP = 4

/** Creates a schedule. Throws InvalidRequest if the request is invalid, or if its migration could not be started. */
export async function createSchedule(
  parts: ScheduleParts,
  scope: Scope,
  maker: Account,
  input: ScheduleInput & { options: MigrationOptions },
): Promise<Schedule> {
  const { db, now, maxSchedules } = parts
  const request = await validate(parts, scope, { keep: DEFAULT_KEEP, ...input })
  const { owner } = scope
  const { isPaused = false } = input
  const id = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countSchedules(tx, scope)) >= maxSchedules)
      throw tooManySchedules(scope, maxSchedules)
    const time = now()
    const nextRunAt = nextRun(request, time)
    return insertSchedule(tx, { ...request, owner, maker, nextRunAt, isPaused, now: time })
  })
  return (await findSchedule(db, scope, id))!
}

function tooManySchedules({ owner }: Scope, max: number): InvalidRequest {
  if (max === 0)
    return new InvalidRequest([
      { code: 'custom', message: 'Schedules are disabled on this server.' },
    ])
  const who = owner.type === 'Organization' ? `${owner.login} already has` : 'You already have'
  return new InvalidRequest([{ code: 'custom', message: `${who} ${max} schedules, the maximum.` }])
}

const MAX_ATTEMPTS = 5

/**
 * Changes the given fields of a schedule. An account that resumes a paused schedule becomes its maker: later runs have the permissions
 * of this account. Throws NotFound or InvalidRequest. Tries again if the schedule is changed at the same time.
 */
export async function changeSchedule(
  parts: ScheduleParts,
  scope: Scope,
  viewer: Account,
  id: number,
  input: ScheduleInput,
): Promise<Schedule> {
  const { db, now } = parts
  for (let attempt = 1; ; attempt++) {
    const current = await findSchedule(db, scope, id)
    if (!current) throw new NotFound()
    const options = { ...current.options, ...input.options }
    const request = await validateChange(
      parts,
      scope,
      { ...clearUnusedWeekday(input), options },
      current,
    )
    const isPaused = input.isPaused ?? current.isPaused
    const isResumed = current.isPaused && !isPaused
    const time = now()
    // A resumed schedule does not catch up on runs that it missed while it was paused.
    const isRescheduled = isResumed || !isSameTiming(request, current)
    const nextRunAt = isRescheduled ? nextRun(request, time) : current.nextRunAt
    const maker = isResumed ? viewer : current.maker
    const change = { ...request, isPaused, maker, nextRunAt, now: time }
    if (await updateSchedule(db, current, change)) return (await findSchedule(db, scope, id))!
    if (attempt === MAX_ATTEMPTS)
      throw new Error(
        `schedule ${id}: cannot save: it was changed during each of ${MAX_ATTEMPTS} attempts`,
      )
  }
}

/** Clears the weekday of a schedule that becomes daily, if the request does not mention it. */
const clearUnusedWeekday = (input: ScheduleInput): ScheduleInput =>
  input.every === 'day' && input.weekday === undefined ? { ...input, weekday: null } : input

const isSameTiming = (one: ScheduleRequest, other: ScheduleRequest): boolean =>
  one.every === other.every &&
  one.weekday === other.weekday &&
  one.at === other.at &&
  one.timeZone === other.timeZone

/** Validates a change. If the request has no list of repositories, errors contain the name of a repository instead of its index. */
async function validateChange(
  parts: StartParts,
  scope: Scope,
  input: ScheduleInput & { options: MigrationOptions },
  current: Schedule,
): Promise<ScheduleRequest> {
  try {
    return await validate(parts, scope, { ...current, ...input }, current)
  } catch (error) {
    const hasRepositories = input.repositories !== undefined
    throw hasRepositories || !(error instanceof InvalidRequest)
      ? error
      : withNamesInsteadOfIndexes(error, current.repositories)
  }
}

type UnvalidatedSchedule = ScheduleInput & { options: MigrationOptions; keep: number }

/**
 * Validates the timing, and reports all its errors at once. Then validates the repositories and options, unless they are the
 * current ones.
 */
async function validate(
  parts: StartParts,
  scope: Scope,
  input: UnvalidatedSchedule,
  current?: Schedule,
): Promise<ScheduleRequest> {
  const { every, at, timeZone, weekday = null, keep, options, repositories = [] } = input
  const faults: FieldError[] = []
  if (every === undefined) faults.push({ field: 'every', code: 'missing_field' })
  if (at === undefined) faults.push({ field: 'at', code: 'missing_field' })
  if (timeZone === undefined) faults.push({ field: 'time_zone', code: 'missing_field' })
  else if (!isTimeZone(timeZone)) faults.push(invalidTimeZone(timeZone))
  if (every === 'week' && weekday === null) faults.push({ field: 'weekday', code: 'missing_field' })
  if (every === 'day' && weekday !== null) faults.push(DAILY_WITH_WEEKDAY)
  if (every === undefined || at === undefined || timeZone === undefined || faults.length > 0)
    throw new InvalidRequest(faults)
  const mustResolve =
    !current ||
    JSON.stringify([repositories, options]) !==
      JSON.stringify([current.repositories, current.options])
  const names = mustResolve ? await resolveNames(parts, scope, repositories, options) : repositories
  return { repositories: names, options, every, weekday, at, timeZone, keep }
}

const invalidTimeZone = (name: string): FieldError => ({
  field: 'time_zone',
  code: 'custom',
  message: `${JSON.stringify(name.slice(0, 100))} is not a time zone such as Europe/Zurich or UTC.`,
})
const DAILY_WITH_WEEKDAY: FieldError = {
  field: 'weekday',
  code: 'custom',
  message: 'Only a weekly schedule has a weekday.',
}

/** Returns the full names as the host spells them. Throws InvalidRequest if a migration of them could not be started. */
async function resolveNames(
  parts: StartParts,
  scope: Scope,
  repositories: string[],
  { orgMetadataOnly, lockRepositories }: MigrationOptions,
): Promise<string[]> {
  if (orgMetadataOnly) return []
  const snapshot = await readSnapshot(parts, scope, repositories)
  if (lockRepositories) await requireLockable(parts, snapshot)
  return snapshot.map(fullNameOf)
}
