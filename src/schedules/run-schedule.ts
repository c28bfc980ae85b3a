import type { Account } from '../accounts/account.ts'
import { hasOnlyRevokedTokens } from '../accounts/token-store.ts'
import { findVisibleOrganization } from '../accounts/visible-organization.ts'
import type { Db } from '../db/database.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { InvalidRequest } from '../migrations/errors.ts'
import type { OutcomeLog } from '../migrations/log-outcome.ts'
import type { Migration } from '../migrations/migration.ts'
import { NothingToMigrate, type StartParts, startCovered } from '../migrations/start-migration.ts'
import { AccountRemoved, FRESH, type RightsRefresher } from '../repositories/refresh-rights.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { factsInArchives } from './keep-archives.ts'
import { CLOCK_TOLERANCE_MS, isTooLate, nextRun } from './next-run.ts'
import {
  findUnfinishedMigrationId,
  insertRun,
  lockSchedule,
  type NewRun,
  PreviousRunUnfinished,
  pauseSchedule,
  RunAlreadyTaken,
  replaceNextRun,
  takeDueTime,
} from './run-store.ts'
import type { Schedule, ScheduleRun, SkippedRepository } from './schedule.ts'
import { dueSchedules, schedulesDueBeyondPeriod } from './schedule-store.ts'

export interface RunParts extends StartParts, StandingParts {}

/** The result of a run: a migration, or the reason why there is none. */
export interface RunEnd {
  outcome: NewRun['outcome']
  migration?: Migration
  reason?: string
  skipped: readonly SkippedRepository[]
  /** The schedule was paused, until a person resumes it. */
  isStopped?: boolean
}

/**
 * Runs a due schedule and moves it to its next time, in the transaction that writes the result: each due time is used once, however
 * many processes try and whichever of them dies. Returns undefined if another process took it. Throws temporary errors: the schedule
 * is then still due.
 */
export async function runDue(
  parts: RunParts,
  schedule: Schedule,
  next: number,
): Promise<RunEnd | undefined> {
  const { nextRunAt: dueAt, maker: by } = schedule
  const time = { dueAt, by, take: (tx: Db) => takeDueTime(tx, schedule, next) }
  try {
    return await startOrRecord(parts, schedule, time)
  } catch (error) {
    if (error instanceof RunAlreadyTaken) return undefined
    throw error
  }
}

async function startOrRecord(parts: RunParts, schedule: Schedule, time: DueTime): Promise<RunEnd> {
  try {
    const stopped = await whyStopped(parts, schedule)
    if (stopped !== undefined)
      return await recordEnd(parts, schedule, time, stoppedBecause(stopped))
    const running = await findUnfinishedMigrationId(parts.db, schedule)
    if (running !== undefined) return await recordEnd(parts, schedule, time, skippedFor(running))
    const { migration, run } = await start(parts, schedule, time)
    return { outcome: 'started', migration, skipped: run.skipped }
  } catch (error) {
    const end = endOf(error, schedule)
    if (!end) throw error
    return recordEnd(parts, schedule, time, end)
  }
}

export interface RunRequest {
  /** The caller, who may migrate what the owner of the schedule has, and starts the migration. */
  by: Account
  onCommitted(started: Migration): void
}

/**
 * Runs a schedule at the request of a caller, without changing its next time. Throws InvalidRequest, without recording a run, if it
 * cannot run.
 */
export async function runNow(
  parts: RunParts,
  schedule: Schedule,
  { by, onCommitted }: RunRequest,
): Promise<ScheduleRun> {
  const time = { dueAt: null, by, take: (tx: Db) => lockSchedule(tx, schedule) }
  try {
    const running = await findUnfinishedMigrationId(parts.db, schedule)
    if (running !== undefined) throw new PreviousRunUnfinished(running)
    return (await start(parts, schedule, time, onCommitted)).run
  } catch (error) {
    const reason =
      error instanceof RunAlreadyTaken ? CHANGED_MEANWHILE : endOf(error, schedule)?.reason
    const isClientError = error instanceof InvalidRequest || error instanceof AccountRemoved
    if (reason === undefined || isClientError) throw error
    throw new InvalidRequest([{ code: 'unprocessable', message: sentence(reason) }])
  }
}

const CHANGED_MEANWHILE = 'the schedule was changed at the same time; try again'
const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

interface DueTime {
  /** Null if a person started the run. */
  dueAt: number | null
  /** The account that starts the migration. */
  by: Account
  /** Reserves the time for this run, or throws RunAlreadyTaken. */
  take(tx: Db): Promise<void>
}

/** Starts the migration like a request, and reserves the due time in its transaction. */
async function start(
  parts: RunParts,
  schedule: Schedule,
  { dueAt, by, take }: DueTime,
  onCommitted?: (started: Migration) => void,
): Promise<{ migration: Migration; run: ScheduleRun }> {
  const { owner, repositories, options } = schedule
  const scope = { owner, by }
  let skipped: SkippedRepository[] = []
  let run!: ScheduleRun
  const steps = {
    async onUncovered(uncovered: readonly string[]) {
      skipped = skippedBecause(uncovered, owner)
      // A caller gets an error if nothing is left. A due run has no caller: its migration starts and fails, so that it is seen.
      const isRefused = dueAt === null && uncovered.length === repositories.length
      return isRefused ? [] : factsInArchives(parts.db, schedule, uncovered)
    },
    async alsoWrite(tx: Db, { id: migrationId }: Migration) {
      await take(tx)
      const running = await findUnfinishedMigrationId(tx, schedule)
      if (running !== undefined) throw new PreviousRunUnfinished(running)
      const outcome = 'started' as const
      const newRun = { dueAt, notedAt: parts.now(), outcome, migrationId, skipped }
      run = await insertRun(tx, schedule, newRun)
    },
    ...(onCommitted && { onCommitted }),
  }
  const migration = await startCovered(parts, scope, { repositories, options }, steps)
  return { migration, run }
}

/** Records a run that started no migration. */
async function recordEnd(
  { db, now }: RunParts,
  schedule: Schedule,
  { dueAt, take }: DueTime,
  end: RunEnd,
): Promise<RunEnd> {
  const { outcome, reason = '', skipped, isStopped = false } = end
  await db.transaction().execute(async (tx) => {
    await take(tx)
    await insertRun(tx, schedule, { dueAt, notedAt: now(), outcome, reason, skipped })
    if (isStopped) await pauseSchedule(tx, schedule, reason, now())
  })
  return end
}

const failed = (reason: string, skipped: readonly SkippedRepository[] = []): RunEnd => ({
  outcome: 'failed',
  reason,
  skipped,
})

const stoppedBecause = (reason: string): RunEnd => ({ ...failed(reason), isStopped: true })

const skippedFor = (migrationId: number): RunEnd => ({
  outcome: 'skipped',
  reason: `migration ${migrationId} of this schedule has not ended`,
  skipped: [],
})

/** The reason does not reveal whether the repository exists. */
const skippedBecause = (names: readonly string[], { login }: Account): SkippedRepository[] =>
  names.map((fullName) => ({
    fullName,
    reason: `it does not exist, or ${login} may no longer migrate it`,
  }))

/** Returns the result for an error that a person would get for the same start; undefined for a temporary error. */
function endOf(error: unknown, { owner }: Schedule): RunEnd | undefined {
  if (error instanceof AccountRemoved) return stoppedBecause(error.message)
  if (error instanceof PreviousRunUnfinished) return skippedFor(error.migrationId)
  if (error instanceof NothingToMigrate) {
    const skipped = skippedBecause(error.uncovered, owner)
    return failed(`${owner.login} may no longer migrate any of the repositories`, skipped)
  }
  if (error instanceof InvalidRequest) {
    return failed(error.faults.map(({ message, code }) => message ?? code).join(' '))
  }
  return error instanceof Unreadable ? failed(error.message) : undefined
}

interface StandingParts {
  db: Db
  /** Absent if there is no forge. */
  rights?: RightsRefresher | undefined
}

/** Returns why the maker of the schedule may no longer run it, or undefined. Throws RightsUnavailable or AccountRemoved. */
async function whyStopped(
  { db, rights }: StandingParts,
  { owner, maker }: Pick<Schedule, 'owner' | 'maker'>,
): Promise<string | undefined> {
  const { login } = maker
  if (maker.type !== 'User') return `${login} is not a user any more`
  if (await hasOnlyRevokedTokens(db, maker)) return `every token of ${login} is revoked`
  await rights?.refresh(maker, FRESH)
  if (owner.id === maker.id) return undefined
  const seen = await findVisibleOrganization(db, { account: maker }, { id: owner.id })
  return seen?.mayMigrate ? undefined : `${login} is no longer an owner of ${owner.login}`
}

export interface DueParts extends RunParts {
  log: OutcomeLog
}

/** Schedules read by one query. */
const MAX_AT_ONCE = 100
const CONCURRENT_RUNS = 4

/**
 * Runs every due schedule. One run makes up for all times that were missed while no process was running. A schedule that cannot run now
 * stays due and does not delay the others.
 */
export async function runDueSchedules(parts: DueParts): Promise<void> {
  const { db, now, log } = parts
  await correctNextRuns(parts)
  const failed = new Set<number>()
  for (;;) {
    const time = now()
    const asked = { now: time, atMost: MAX_AT_ONCE + failed.size }
    const due = (await dueSchedules(db, asked)).filter(({ id }) => !failed.has(id))
    if (due.length === 0) return
    await mapConcurrent(due, { concurrency: CONCURRENT_RUNS }, async (schedule) => {
      await runOne(parts, schedule, time).catch((err: unknown) => {
        failed.add(schedule.id)
        log.error({ err, schedule: schedule.id }, `schedule ${schedule.id} could not run now`)
      })
    })
  }
}

/** Without this, a schedule could wait longer than its period after the clock was wrong. */
async function correctNextRuns({ db, now }: DueParts): Promise<void> {
  const time = now()
  for (const schedule of await schedulesDueBeyondPeriod(db, time + CLOCK_TOLERANCE_MS)) {
    if (isTooLate(schedule, schedule.nextRunAt, time))
      await replaceNextRun(db, schedule, nextRun(schedule, time))
  }
}

async function runOne(parts: DueParts, schedule: Schedule, time: number): Promise<void> {
  const end = await runDue(parts, schedule, nextRun(schedule, time))
  if (end) logRun(parts.log, schedule, end)
}

/** Logs a start with the audit fields of a start by request. */
function logRun(log: OutcomeLog, schedule: Schedule, { migration, ...end }: RunEnd): void {
  const { id, owner, maker } = schedule
  const by = { schedule: id, owner: owner.login, login: maker.login }
  const { outcome, reason, skipped, isStopped = false } = end
  if (migration) {
    const about = { audit: 'migration.start', ...by, migration: migration.id, guid: migration.guid }
    log.info(about, 'migration.start')
    if (skipped.length > 0) log.warn({ ...by, skipped }, `schedule ${id} skipped repositories`)
    return
  }
  const what = isStopped ? 'was paused' : outcome === 'skipped' ? 'skipped a run' : 'failed'
  log.warn({ ...by, outcome, reason }, `schedule ${id} of ${owner.login} ${what}: ${reason}`)
}
