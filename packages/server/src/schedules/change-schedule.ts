import { type FieldError, InvalidRequest, NotFound } from '@godwit/lib/request-errors'
import type { Account, Scope } from '../accounts/account.ts'
import type { AlsoWrite } from '../db/database.ts'
import { requireLockable } from '../migrations/locks.ts'
import type { MigrationOptions } from '../migrations/migration.ts'
import { lockScope } from '../migrations/migration-store.ts'
import { withNamesInsteadOfIndexes } from '../migrations/retry-migration.ts'
import { readRepositoryList, type StartDependencies } from '../migrations/start-migration.ts'
import { fullNameOf } from '../repositories/repository-metadata.ts'
import { isTimeZone, nextRun, type Timing } from './next-run.ts'
import {
  countSchedules,
  findSchedule,
  insertSchedule,
  type Schedule,
  type ScheduleRequest,
  updateSchedule,
} from './schedule-store.ts'

export type ScheduleDependencies = StartDependencies & { maxSchedules: number }

/** A request to create or change a schedule. An omitted field gets its default, or keeps its value in an existing schedule. */
export interface ScheduleInput extends Partial<Omit<ScheduleRequest, 'options'>> {
  options: Partial<MigrationOptions>
  isPaused?: boolean
}

/** A request with the fields that a schedule must have. */
type CompleteInput = ScheduleInput & Omit<Timing, 'weekday'> & { options: MigrationOptions }

const DEFAULT_KEEP = 4

/** Creates a schedule. Throws InvalidRequest if the request is invalid, or if its migration could not be started. */
export async function createSchedule(
  dependencies: ScheduleDependencies,
  scope: Scope,
  runsAs: Account,
  input: CompleteInput,
  alsoWrite?: AlsoWrite<[id: number]>,
): Promise<Schedule> {
  const { db, now, maxSchedules } = dependencies
  const request = await validate(dependencies, scope, input)
  const { isPaused = false } = input
  const id = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countSchedules(tx, scope)) >= maxSchedules)
      throw tooManySchedules(scope, maxSchedules)
    const time = now()
    const nextRunAt = nextRun(request, time)
    const added = { ...request, owner: scope.owner, runsAs, nextRunAt, isPaused, now: time }
    const id = await insertSchedule(tx, added)
    await alsoWrite?.(tx, id)
    return id
  })
  return (await findSchedule(db, scope, id))!
}

function tooManySchedules({ owner }: Scope, max: number): InvalidRequest {
  const who = owner.type === 'Organization' ? `${owner.login} already has` : 'You already have'
  const message =
    max === 0 ? 'Schedules are disabled on this server.' : `${who} ${max} schedules, the maximum.`
  return new InvalidRequest([{ code: 'custom', message }])
}

const MAX_ATTEMPTS = 5

/**
 * Changes the given fields of a schedule. If this resumes a paused schedule, later runs have the permissions of the viewer. Throws
 * NotFound or InvalidRequest. Tries again if the schedule is changed at the same time.
 */
export async function changeSchedule(
  dependencies: ScheduleDependencies,
  scope: Scope,
  viewer: Account,
  id: number,
  input: ScheduleInput,
  alsoWrite?: AlsoWrite,
): Promise<Schedule> {
  const { db, now } = dependencies
  for (let attempt = 1; ; attempt++) {
    const current = await findSchedule(db, scope, id)
    if (!current) throw new NotFound()
    const request = await validateChange(dependencies, scope, input, current)
    const isPaused = input.isPaused ?? current.isPaused
    const isResumed = current.isPaused && !isPaused
    const time = now()
    // A resumed schedule does not catch up on runs that it missed while it was paused.
    const isRescheduled = isResumed || !isSameTiming(request, current)
    const nextRunAt = isRescheduled ? nextRun(request, time) : current.nextRunAt
    const runsAs = isResumed ? viewer : current.runsAs
    const change = { ...request, isPaused, runsAs, nextRunAt, now: time }
    const isSaved = await db.transaction().execute(async (tx) => {
      if (!(await updateSchedule(tx, current, change))) return false
      await alsoWrite?.(tx)
      return true
    })
    if (isSaved) return (await findSchedule(db, scope, id))!
    if (attempt === MAX_ATTEMPTS)
      throw new Error(
        `schedule ${id}: cannot save: it was changed during each of ${MAX_ATTEMPTS} attempts`,
      )
  }
}

const isSameTiming = (one: ScheduleRequest, other: ScheduleRequest): boolean =>
  (['every', 'weekday', 'at', 'timeZone'] as const).every((key) => one[key] === other[key])

/** Validates a change. If the request has no list of repositories, errors contain the name of a repository instead of its index. */
async function validateChange(
  dependencies: StartDependencies,
  scope: Scope,
  input: ScheduleInput,
  current: Schedule,
): Promise<ScheduleRequest> {
  const next = {
    ...current,
    // A schedule that becomes daily loses its weekday.
    weekday: input.every === 'day' ? null : current.weekday,
    // A list replaces `isForAll`, and the other way round.
    isForAll: input.repositories === undefined && current.isForAll,
    repositories: input.isForAll ? [] : current.repositories,
    ...input,
    options: { ...current.options, ...input.options },
  }
  return validate(dependencies, scope, next, current).catch((error: unknown) => {
    throw input.repositories === undefined && error instanceof InvalidRequest
      ? withNamesInsteadOfIndexes(error, current.repositories)
      : error
  })
}

/**
 * Validates the timing, and reports all its errors at once. Then validates the repositories and options, unless they are the
 * current ones.
 */
async function validate(
  dependencies: StartDependencies,
  scope: Scope,
  input: CompleteInput,
  current?: Schedule,
) {
  const { every, at, timeZone, weekday = null, options, repositories = [] } = input
  const { keep = DEFAULT_KEEP, isForAll = false, name = null } = input
  const errors: FieldError[] = []
  const add = (field: string, message: string) => errors.push({ field, code: 'custom', message })
  if (!isTimeZone(timeZone)) {
    const shown = JSON.stringify(timeZone.slice(0, 100))
    add('time_zone', `${shown} is not a time zone such as Europe/Zurich or UTC.`)
  }
  if (every === 'week' && weekday === null) errors.push({ field: 'weekday', code: 'missing_field' })
  if (every === 'day' && weekday !== null) add('weekday', 'Only a weekly schedule has a weekday.')
  if (isForAll && repositories.length > 0)
    add('repositories', 'With `all`, do not list repositories.')
  if (errors.length > 0) throw new InvalidRequest(errors)
  const mustResolve =
    !isForAll &&
    (!current ||
      JSON.stringify([isForAll, repositories, options]) !==
        JSON.stringify([current.isForAll, current.repositories, current.options]))
  const names = mustResolve
    ? await resolveNames(dependencies, scope, repositories, options)
    : repositories
  return { name, isForAll, repositories: names, options, every, weekday, at, timeZone, keep }
}

/** Returns the full names as the host spells them. Throws InvalidRequest if a migration of them could not be started. */
async function resolveNames(
  dependencies: StartDependencies,
  scope: Scope,
  repositories: string[],
  { orgMetadataOnly, lockRepositories }: MigrationOptions,
): Promise<string[]> {
  if (orgMetadataOnly) return []
  const list = await readRepositoryList(dependencies, scope, repositories)
  if (lockRepositories) await requireLockable(dependencies, list)
  return list.map(fullNameOf)
}
