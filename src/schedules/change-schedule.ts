import type { Account, Scope } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import { type Fault, faultByName, InvalidRequest, NotFound } from '../migrations/errors.ts'
import { requireLockable } from '../migrations/locks.ts'
import type { MigrationOptions } from '../migrations/migration.ts'
import { lockScope } from '../migrations/migration-store.ts'
import { type StartParts, snapshotOf } from '../migrations/start-migration.ts'
import { fullNameOf } from '../repositories/facts.ts'
import { isTimeZone, nextRun } from './next-run.ts'
import type { Period, Schedule, ScheduleRequest, Weekday } from './schedule.ts'
import { countSchedules, findSchedule, insertSchedule, updateSchedule } from './schedule-store.ts'

export interface ScheduleParts extends StartParts {
  db: Db
  maxSchedules: number
}

/** A request to create or change a schedule. A field that is left out keeps its value, or gets the default. */
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

/** Throws InvalidRequest, also for everything that the start of a migration would refuse. */
export async function createSchedule(
  parts: ScheduleParts,
  scope: Scope,
  maker: Account,
  asked: ScheduleInput & { options: MigrationOptions },
): Promise<Schedule> {
  const { db, now, maxSchedules } = parts
  const request = await checked(parts, scope, { keep: DEFAULT_KEEP, ...asked })
  const { owner } = scope
  const { isPaused = false } = asked
  const id = await db.transaction().execute(async (tx) => {
    await lockScope(tx, scope)
    if ((await countSchedules(tx, scope)) >= maxSchedules) throw tooMany(scope, maxSchedules)
    const time = now()
    const nextRunAt = nextRun(request, time)
    return insertSchedule(tx, { ...request, owner, maker, nextRunAt, isPaused, now: time })
  })
  return (await findSchedule(db, scope, id))!
}

function tooMany({ owner }: Scope, max: number): InvalidRequest {
  if (max === 0)
    return new InvalidRequest([{ code: 'custom', message: 'This server has no schedules.' }])
  const who = owner.type === 'Organization' ? `${owner.login} already has` : 'You already have'
  return new InvalidRequest([{ code: 'custom', message: `${who} ${max} schedules, the maximum.` }])
}

const MAX_ATTEMPTS = 5

/** The person who resumes a schedule becomes its maker: it runs with their rights from then on. */
export async function changeSchedule(
  parts: ScheduleParts,
  scope: Scope,
  viewer: Account,
  id: number,
  asked: ScheduleInput,
): Promise<Schedule> {
  const { db, now } = parts
  for (let attempt = 1; ; attempt++) {
    const known = await findSchedule(db, scope, id)
    if (!known) throw new NotFound()
    const options = { ...known.options, ...asked.options }
    const request = await checkedChange(parts, scope, { ...dropWeekday(asked), options }, known)
    const isPaused = asked.isPaused ?? known.isPaused
    const isResumed = known.isPaused && !isPaused
    const time = now()
    // Runs that were missed during the pause are not made up for.
    const isMoved = isResumed || !isSameTiming(request, known)
    const nextRunAt = isMoved ? nextRun(request, time) : known.nextRunAt
    const maker = isResumed ? viewer : known.maker
    const change = { ...request, isPaused, maker, nextRunAt, now: time }
    if (await updateSchedule(db, known, change)) return (await findSchedule(db, scope, id))!
    if (attempt === MAX_ATTEMPTS)
      throw new Error(`schedule ${id} was changed at the same time, ${MAX_ATTEMPTS} times`)
  }
}

/** A weekly schedule that becomes daily loses its weekday, even if the request does not say so. */
const dropWeekday = (asked: ScheduleInput): ScheduleInput =>
  asked.every === 'day' && asked.weekday === undefined ? { ...asked, weekday: null } : asked

const isSameTiming = (one: ScheduleRequest, other: ScheduleRequest): boolean =>
  one.every === other.every &&
  one.weekday === other.weekday &&
  one.at === other.at &&
  one.timeZone === other.timeZone

/** If the request has no list of repositories, errors name the repository instead of its index. */
async function checkedChange(
  parts: StartParts,
  scope: Scope,
  asked: ScheduleInput & { options: MigrationOptions },
  known: Schedule,
): Promise<ScheduleRequest> {
  try {
    return await checked(parts, scope, { ...known, ...asked }, known)
  } catch (error) {
    const isSent = asked.repositories !== undefined
    throw isSent || !(error instanceof InvalidRequest)
      ? error
      : faultByName(error, known.repositories)
  }
}

type Unchecked = ScheduleInput & { options: MigrationOptions; keep: number }

/** Reports all errors of the timing at once. Then checks what a start would refuse, if it has changed. */
async function checked(
  parts: StartParts,
  scope: Scope,
  asked: Unchecked,
  known?: Schedule,
): Promise<ScheduleRequest> {
  const { every, at, timeZone, weekday = null, keep, options, repositories = [] } = asked
  const faults: Fault[] = []
  if (every === undefined) faults.push({ field: 'every', code: 'missing_field' })
  if (at === undefined) faults.push({ field: 'at', code: 'missing_field' })
  if (timeZone === undefined) faults.push({ field: 'time_zone', code: 'missing_field' })
  else if (!isTimeZone(timeZone)) faults.push(notATimeZone(timeZone))
  if (every === 'week' && weekday === null) faults.push({ field: 'weekday', code: 'missing_field' })
  if (every === 'day' && weekday !== null) faults.push(DAILY_WITH_WEEKDAY)
  if (every === undefined || at === undefined || timeZone === undefined || faults.length > 0)
    throw new InvalidRequest(faults)
  const isNew =
    !known ||
    JSON.stringify([repositories, options]) !== JSON.stringify([known.repositories, known.options])
  const names = isNew ? await checkedNames(parts, scope, repositories, options) : repositories
  return { repositories: names, options, every, weekday, at, timeZone, keep }
}

const notATimeZone = (name: string): Fault => ({
  field: 'time_zone',
  code: 'custom',
  message: `${JSON.stringify(name.slice(0, 100))} is not a time zone such as Europe/Zurich or UTC.`,
})
const DAILY_WITH_WEEKDAY: Fault = {
  field: 'weekday',
  code: 'custom',
  message: 'Only a weekly schedule has a weekday.',
}

/** Returns full names, as the host spells them. */
async function checkedNames(
  parts: StartParts,
  scope: Scope,
  repositories: string[],
  { orgMetadataOnly, lockRepositories }: MigrationOptions,
): Promise<string[]> {
  if (orgMetadataOnly) return []
  const snapshot = await snapshotOf(parts, scope, repositories)
  if (lockRepositories) await requireLockable(parts, snapshot)
  return snapshot.map(fullNameOf)
}
