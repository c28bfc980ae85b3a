import { Unreadable } from '@godwit/git/unreadable'
import { InvalidRequest } from '@godwit/lib/request-errors'
import { mapConcurrent } from '@godwit/lib/turns'
import type { Account } from '../accounts/account.ts'
import { audited } from '../accounts/audit-log.ts'
import { findVisibleOrganization } from '../accounts/membership-store.ts'
import { hasOnlyRevokedTokens } from '../accounts/token-store.ts'
import type { AlsoWrite, Db } from '../db/database.ts'
import { CLOCK_TOLERANCE_MS } from '../db/lease-store.ts'
import type { DeleteDependencies } from '../migrations/archive-store.ts'
import type { OutcomeLog } from '../migrations/end-migration.ts'
import { aboutMigration, type Migration } from '../migrations/migration.ts'
import { ArchiveQuotaExceeded } from '../migrations/quota.ts'
import {
  allCovered,
  NothingToMigrate,
  type StartDependencies,
  startCovered,
} from '../migrations/start-migration.ts'
import { AccountRemoved, FRESH } from '../repositories/refresh-permissions.ts'
import { makeRoomForNext, metadataInArchives, newestArchiveBytes } from './keep-archives.ts'
import { nextRun } from './next-run.ts'
import * as runStore from './run-store.ts'
import {
  dueSchedules,
  type Schedule,
  type SkippedRepository,
  schedulesDueBeyondPeriod,
} from './schedule-store.ts'

/** The result of a run: a migration, or the reason why there is none. */
export interface RunResult extends Pick<runStore.NewRun, 'outcome' | 'reason' | 'skipped'> {
  migration?: Migration
  /** The schedule was paused, until a person resumes it. */
  isPaused?: boolean
}

/** What caused a run: its due time, or a person. */
interface Trigger {
  /** Null if a person started the run. */
  dueAt: number | null
  /** The account that starts the migration. */
  by: Account
  /** Reserves the schedule for this run, or throws RunAlreadyTaken. */
  take(tx: Db): Promise<void>
  alsoWrite: AlsoWrite<[Migration]>
}

/**
 * Runs a due schedule and moves it to its next time, in the transaction that writes the result: each due time is used once, however
 * many processes try and whichever of them dies. Returns undefined if another process took it. Throws temporary errors: the schedule
 * is then still due.
 */
export async function runDue(dependencies: DueDependencies, schedule: Schedule, next: number) {
  const take = (tx: Db) => runStore.takeSchedule(tx, schedule, next)
  const { id, nextRunAt: dueAt, runsAs: by } = schedule
  const actor = { login: by.login, accountId: by.id, details: { schedule: id } }
  const run = audited(dependencies, actor, (record) => {
    const alsoWrite: Trigger['alsoWrite'] = (tx, started) =>
      record(tx, 'migration.start', aboutMigration(started))
    return startOrRecord(dependencies, schedule, { dueAt, by, take, alsoWrite })
  })
  return run.catch((error: unknown) => {
    if (!(error instanceof runStore.RunAlreadyTaken)) throw error
    return undefined
  })
}

async function startOrRecord(
  dependencies: DueDependencies,
  schedule: Schedule,
  trigger: Trigger,
): Promise<RunResult> {
  try {
    const reason = await reasonToPause(dependencies, schedule)
    if (reason !== undefined)
      return await recordResult(dependencies, schedule, trigger, pausedBecause(reason))
    const { migration, run } = await start(dependencies, schedule, trigger)
    return { outcome: 'started', migration, skipped: run.skipped }
  } catch (error) {
    const result = resultOfError(error, schedule)
    if (!result) throw error
    return recordResult(dependencies, schedule, trigger, result)
  }
}

/**
 * Runs a schedule at the request of a caller, who may migrate what the owner of the schedule has. Does not change its next time. Throws
 * InvalidRequest, without recording a run, if it cannot run.
 */
export async function runNow(
  dependencies: DueDependencies,
  schedule: Schedule,
  request: Pick<Trigger, 'by' | 'alsoWrite'>,
): Promise<runStore.ScheduleRun> {
  const take = (tx: Db) => runStore.takeSchedule(tx, schedule)
  try {
    return (await start(dependencies, schedule, { ...request, dueAt: null, take })).run
  } catch (error) {
    const reason =
      error instanceof runStore.RunAlreadyTaken
        ? CHANGED_MEANWHILE
        : resultOfError(error, schedule)?.reason
    const isClientError = error instanceof InvalidRequest || error instanceof AccountRemoved
    if (reason === undefined || isClientError) throw error
    throw new InvalidRequest([{ code: 'unprocessable', message: sentence(reason) }])
  }
}

const CHANGED_MEANWHILE = 'the schedule was changed at the same time; try again'
const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

/** Starts the migration like a request, and reserves the schedule in its transaction. */
async function start(
  dependencies: DueDependencies,
  schedule: Schedule,
  { dueAt, by, take, alsoWrite }: Trigger,
) {
  await runStore.requirePreviousRunEnded(dependencies.db, schedule)
  const { owner, name, isForAll, options } = schedule
  const scope = { owner, by }
  const repositories = isForAll ? await allCovered(dependencies, scope) : schedule.repositories
  let skipped: SkippedRepository[] = []
  let run!: runStore.ScheduleRun
  const steps = {
    minBytes: await newestArchiveBytes(dependencies.db, schedule),
    async onUncovered(uncovered: readonly string[]) {
      // A repository that was removed since the last sync is not one of all repositories any more.
      if (isForAll) return []
      skipped = skippedRepositories(uncovered, owner)
      // A caller gets an error if nothing is left. A due run has no caller: its migration starts and fails, so that it is seen.
      const isRefused = dueAt === null && uncovered.length === repositories.length
      return isRefused ? [] : metadataInArchives(dependencies.db, schedule, uncovered)
    },
    async alsoWrite(tx: Db, migration: Migration) {
      await take(tx)
      await runStore.requirePreviousRunEnded(tx, schedule)
      const outcome = 'started' as const
      const newRun = {
        dueAt,
        createdAt: dependencies.now(),
        outcome,
        migrationId: migration.id,
        skipped,
      }
      run = await runStore.insertRun(tx, schedule, newRun)
      await alsoWrite(tx, migration)
    },
  }
  const startOnce = () => startCovered(dependencies, scope, { name, repositories, options }, steps)
  const migration = await startOnce().catch(async (error: unknown) => {
    const isRoomMade =
      error instanceof ArchiveQuotaExceeded &&
      (await makeRoomForNext(dependencies, schedule, error.missing))
    if (!isRoomMade) throw error
    return startOnce()
  })
  dependencies.queue.wake('jobs')
  return { migration, run }
}

/** Records a run that started no migration. */
async function recordResult(
  { db, now }: StartDependencies,
  schedule: Schedule,
  { dueAt, take }: Trigger,
  result: RunResult,
): Promise<RunResult> {
  const { outcome, reason = '', skipped } = result
  await db.transaction().execute(async (tx) => {
    await take(tx)
    await runStore.insertRun(tx, schedule, { dueAt, createdAt: now(), outcome, reason, skipped })
    if (result.isPaused) await runStore.pauseSchedule(tx, schedule, reason, now())
  })
  return result
}

const failed = (reason: string, skipped: readonly SkippedRepository[] = []): RunResult => ({
  outcome: 'failed',
  reason,
  skipped,
})

const pausedBecause = (reason: string): RunResult => ({ ...failed(reason), isPaused: true })

/** The reason does not reveal whether the repository exists. */
const skippedRepositories = (names: readonly string[], { login }: Account): SkippedRepository[] =>
  names.map((fullName) => ({
    fullName,
    reason: `it does not exist, or ${login} may no longer migrate it`,
  }))

/** Returns the result for an error that a person would get for the same start; undefined for a temporary error. */
function resultOfError(error: unknown, { owner, isForAll }: Schedule): RunResult | undefined {
  if (error instanceof AccountRemoved) return pausedBecause(error.message)
  if (error instanceof runStore.PreviousRunUnfinished)
    return { outcome: 'skipped', reason: error.message, skipped: [] }
  if (error instanceof NothingToMigrate && isForAll)
    return failed(`${owner.login} has no repositories to migrate`)
  if (error instanceof NothingToMigrate) {
    const skipped = skippedRepositories(error.uncovered, owner)
    return failed(`${owner.login} may no longer migrate any of the repositories`, skipped)
  }
  if (error instanceof InvalidRequest)
    return failed(error.errors.map(({ message, code }) => message ?? code).join(' '))
  return error instanceof Unreadable ? failed(error.message) : undefined
}

/** Returns why the schedule's account may no longer run it, or undefined. Throws PermissionsUnavailable or AccountRemoved. */
async function reasonToPause(
  { db, permissionsRefresher }: StartDependencies,
  { owner, runsAs: account }: Schedule,
) {
  const { login } = account
  if (account.type !== 'User') return `${login} is not a user any more`
  if (await hasOnlyRevokedTokens(db, account)) return `every token of ${login} is revoked`
  await permissionsRefresher?.refresh(account, FRESH)
  if (owner.id === account.id) return undefined
  const organization = await findVisibleOrganization(db, { account }, { id: owner.id })
  return organization?.mayMigrate ? undefined : `${login} is no longer an owner of ${owner.login}`
}

export type DueDependencies = StartDependencies & DeleteDependencies & { log: OutcomeLog }

/** The schedules that one query reads. */
const BATCH_SIZE = 100
const CONCURRENT_RUNS = 4

/**
 * Runs every due schedule. One run makes up for all times that were missed while no process was running. A schedule that cannot run now
 * stays due and does not delay the others.
 */
export async function runDueSchedules(dependencies: DueDependencies): Promise<void> {
  const { db, now, log } = dependencies
  await correctNextRuns(dependencies)
  const failed = new Set<number>()
  for (;;) {
    const time = now()
    const batch = await dueSchedules(db, { now: time, limit: BATCH_SIZE + failed.size })
    const due = batch.filter(({ id }) => !failed.has(id))
    if (due.length === 0) return
    await mapConcurrent(due, { concurrency: CONCURRENT_RUNS }, async (schedule) => {
      try {
        const result = await runDue(dependencies, schedule, nextRun(schedule, time))
        if (result) logRun(log, schedule, result)
      } catch (err) {
        failed.add(schedule.id)
        log.error({ err, schedule: schedule.id }, `schedule ${schedule.id} could not run now`)
      }
    })
  }
}

/** Without this, a schedule could wait longer than its period after the clock was wrong. */
async function correctNextRuns({ db, now }: DueDependencies): Promise<void> {
  const time = now()
  const latest = time + CLOCK_TOLERANCE_MS
  for (const schedule of await schedulesDueBeyondPeriod(db, latest)) {
    if (schedule.nextRunAt > nextRun(schedule, latest))
      await runStore.replaceNextRun(db, schedule, nextRun(schedule, time))
  }
}

/** Logs what a start without a caller has to report. The start itself is in the audit log. */
function logRun(log: OutcomeLog, schedule: Schedule, result: RunResult): void {
  const { id, owner } = schedule
  const by = { schedule: id, owner: owner.login, login: schedule.runsAs.login }
  const { migration, outcome, reason, skipped } = result
  if (migration) {
    if (skipped.length > 0) log.warn({ ...by, skipped }, `schedule ${id} skipped repositories`)
    return
  }
  const what = result.isPaused ? 'was paused' : outcome === 'skipped' ? 'skipped a run' : 'failed'
  log.warn({ ...by, outcome, reason }, `schedule ${id} of ${owner.login} ${what}: ${reason}`)
}
