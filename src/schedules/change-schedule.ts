import type { Account } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import { type Fault, faultByName, InvalidRequest, NotFound } from '../migrations/errors.ts'
import { refuseUnlockable } from '../migrations/locks.ts'
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

/** As far as somebody said: what is left out stays as it is, or as it usually is. */
export interface AskedSchedule {
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

/** Checks all that a start would check, and more. All of it or nothing. */
export async function makeSchedule(
  parts: ScheduleParts,
  scope: Scope,
  maker: Account,
  asked: AskedSchedule & { options: MigrationOptions },
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

const MAX_TRIES = 5

/** Whoever resumes a schedule of an organization is who it runs as from then on. */
export async function changeSchedule(
  parts: ScheduleParts,
  scope: Scope,
  viewer: Account,
  id: number,
  asked: AskedSchedule,
): Promise<Schedule> {
  const { db, now } = parts
  for (let tries = 1; ; tries++) {
    const known = await findSchedule(db, scope, id)
    if (!known) throw new NotFound()
    const options = { ...known.options, ...asked.options }
    const request = await checkedChange(parts, scope, { ...dropWeekday(asked), options }, known)
    const isPaused = asked.isPaused ?? known.isPaused
    const isResumed = known.isPaused && !isPaused
    const time = now()
    // What was not due while it was paused is not made up for.
    const isMoved = isResumed || !isSameTiming(request, known)
    const nextRunAt = isMoved ? nextRun(request, time) : known.nextRunAt
    const maker = isResumed ? viewer : known.maker
    const change = { ...request, isPaused, maker, nextRunAt, now: time }
    if (await updateSchedule(db, known, change)) return (await findSchedule(db, scope, id))!
    if (tries === MAX_TRIES) throw new Error(`schedule ${id} is changed by others all the time`)
  }
}

/** Where it becomes daily, the day of the week that it had is no mistake. */
const dropWeekday = (asked: AskedSchedule): AskedSchedule =>
  asked.every === 'day' && asked.weekday === undefined ? { ...asked, weekday: null } : asked

const isSameTiming = (one: ScheduleRequest, other: ScheduleRequest): boolean =>
  one.every === other.every &&
  one.weekday === other.weekday &&
  one.at === other.at &&
  one.timeZone === other.timeZone

/** Where it changes something else, a repository that is gone is named: no list was sent that an index could be of. */
async function checkedChange(
  parts: StartParts,
  scope: Scope,
  asked: AskedSchedule & { options: MigrationOptions },
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

type Unchecked = AskedSchedule & { options: MigrationOptions; keep: number }

/** All that is wrong with the timing at once; then what a start would refuse, if that is new. */
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

/** Full names, as the host spells them. */
async function checkedNames(
  parts: StartParts,
  scope: Scope,
  repositories: string[],
  { orgMetadataOnly, lockRepositories }: MigrationOptions,
): Promise<string[]> {
  if (orgMetadataOnly) return []
  const snapshot = await snapshotOf(parts, scope, repositories)
  if (lockRepositories) await refuseUnlockable(parts, snapshot)
  return snapshot.map(fullNameOf)
}
