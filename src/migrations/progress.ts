import type { Db } from '../db/database.ts'
import { formatBytes, formatDuration } from '../lib/quantities.ts'
import { mapInTurns } from '../lib/turns.ts'
import { summarizeNames } from './archive-store.ts'
import {
  type Migration,
  type MigrationOptions,
  type MigrationState,
  type ShownState,
  shownState,
} from './migration.ts'
import { outcomesOf, type RepositoryOutcome } from './outcomes.ts'
import { type RecordsProgress, recordExportsOf } from './record-store.ts'
import { namedRepositoriesOf } from './snapshot-store.ts'

type RepositoryState = 'waiting' | 'exporting' | 'exported' | 'skipped' | 'failed'

export interface RepositoryProgress
  extends Omit<RepositoryOutcome, 'outcome' | 'segmentKey' | 'bytesExpected'> {
  fullName: string
  state: RepositoryState
  /** The size in the catalogue, until the repository is examined. */
  bytesExpected: number
  /** Null if records are not exported, or not begun. */
  records: RecordsProgress | null
}

export interface Progress {
  state: ShownState
  reason: string | null
  startedAt: number | null
  endedAt: number | null
  repositories: RepositoryProgress[]
}

export async function progressOf(db: Db, { id }: Pick<Migration, 'id'>): Promise<Progress> {
  const migration = await db
    .selectFrom('migrations')
    .select(['state', 'reason', 'options', 'started_at', 'ended_at', 'repository_count'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const outcomes = await outcomesOf(db, { id })
  const records = await recordExportsOf(db, { id })
  const named = await namedRepositoriesOf(db, { id, repositoryCount: migration.repository_count })
  const { excludeGitData } = JSON.parse(migration.options) as MigrationOptions
  return {
    state: shownState(migration.state as MigrationState, migration.reason),
    reason: migration.reason,
    startedAt: migration.started_at,
    endedAt: migration.ended_at,
    repositories: await mapInTurns(named, ({ fullName, bytes }, position) => ({
      fullName,
      ...progressOfOne(
        outcomes.get(position) ?? NOT_BEGUN,
        records.get(position)?.progress ?? null,
        excludeGitData ? 0 : bytes,
      ),
    })),
  }
}

const NOT_BEGUN: RepositoryOutcome = {
  outcome: null,
  segmentKey: null,
  reason: null,
  warning: null,
  startedAt: null,
  finishedAt: null,
  order: null,
  bytesExpected: null,
  bytesDone: 0,
  reused: false,
}

function progressOfOne(
  { segmentKey: _, outcome, bytesExpected, ...rest }: RepositoryOutcome,
  records: RecordsProgress | null,
  cataloguedBytes: number,
): Omit<RepositoryProgress, 'fullName'> {
  const startedAt = records?.startedAt ?? rest.startedAt
  return {
    ...rest,
    state: outcome ?? (startedAt === null ? 'waiting' : 'exporting'),
    startedAt,
    records,
    bytesExpected: bytesExpected ?? cataloguedBytes,
  }
}

export function totalsOf({ repositories, startedAt, endedAt }: Progress, now: number) {
  const inState = (state: RepositoryState) => repositories.filter((each) => each.state === state)
  const sum = (some: RepositoryProgress[], of: (each: RepositoryProgress) => number) =>
    some.reduce((total, each) => total + of(each), 0)
  const bytesDone = sum(repositories, (each) => each.bytesDone)
  // Skipped and failed repositories have a reason.
  const bytesExpected = sum(repositories, (each) => (each.reason === null ? each.bytesExpected : 0))
  const written = sum(repositories, (each) => (each.reused ? 0 : each.bytesDone))
  const seconds = startedAt === null ? 0 : ((endedAt ?? now) - startedAt) / 1000
  // The average over the export so far, without reused repositories.
  const bytesPerSecond = seconds > 0 ? Math.round(written / seconds) : null
  const remaining = inState('waiting').length + inState('exporting').length
  return {
    repositories: repositories.length,
    exported: inState('exported').length,
    reused: repositories.filter((each) => each.reused).length,
    skipped: inState('skipped').length,
    failed: inState('failed').length,
    remaining,
    bytesDone,
    bytesExpected,
    bytesPerSecond,
    secondsLeft: secondsLeft(remaining, bytesExpected, bytesDone, bytesPerSecond),
    // Issues and pull requests that were read from the forge, and that are known to exist.
    recordsDone: sum(repositories, ({ records }) => records?.done ?? 0),
    recordsExpected: sum(repositories, ({ records }) => records?.expected ?? 0),
    waitingUntil: endedAt === null ? firstWait(repositories) : null,
  }
}

/** Returns when the first request can be sent to the forge again, or null if no repository waits for that. */
function firstWait(repositories: readonly RepositoryProgress[]): number | null {
  const waits = repositories.flatMap(({ records, state }) =>
    state === 'exporting' ? (records?.waitingUntil ?? []) : [],
  )
  return waits.length === 0 ? null : waits.reduce((first, each) => Math.min(first, each))
}

function secondsLeft(
  remaining: number,
  bytesExpected: number,
  bytesDone: number,
  bytesPerSecond: number | null,
): number | null {
  if (remaining === 0) return 0
  if (!bytesPerSecond) return null
  return Math.ceil(Math.max(bytesExpected - bytesDone, 0) / bytesPerSecond)
}

export type Report = ReturnType<typeof reportOf>

/** `damaged` contains the names of the repositories whose data in the archive is damaged. */
export function reportOf(
  migration: Migration,
  progress: Progress,
  damaged: readonly string[],
  now: number,
) {
  const { startedAt, endedAt } = progress
  const seconds = startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000
  const totals = totalsOf(progress, now)
  const warnings = archiveWarnings(totals.bytesExpected)
  if (damaged.length > 0)
    warnings.unshift(
      `the stored data of ${summarizeNames(damaged)} is damaged: start a new migration to export it again`,
    )
  return { migration, progress, totals, seconds, warnings }
}

/** Returns the report as text. */
export function describeReport(report: Report): string {
  const { migration, progress, totals, seconds, warnings } = report
  const { exported, reused, skipped, failed, remaining, bytesDone } = totals
  const ended = progress.endedAt === null ? '' : ` on ${new Date(progress.endedAt).toISOString()}`
  const isPartial = progress.state === 'exported' && skipped > 0
  const lines = [
    `Migration ${migration.id} (${migration.guid}) of ${migration.owner.login} is ${isPartial ? 'partly exported' : progress.state}${ended}.`,
    `${totals.repositories} repositories: ${exported} exported (${reused} of them reused), ${skipped} skipped, ${failed} failed, ${remaining} not ended.`,
    `${formatBytes(bytesDone)} of git data${seconds === null ? '' : ` in ${formatDuration(seconds)}`}.`,
  ]
  if (totals.recordsExpected > 0)
    lines.push(`${totals.recordsDone} issues and pull requests with their comments and files.`)
  lines.push(...warnings.map((warning) => `Warning: ${warning}.`))
  return [...lines, '', ...progress.repositories.map(describeRepository), ''].join('\n')
}

function describeRepository(repository: RepositoryProgress): string {
  const { fullName, state, reused, bytesDone, reason, warning } = repository
  if (reason !== null) return `${state.padEnd(8)} ${fullName}: ${reason}`
  const how = state === 'exported' && reused ? 'reused' : state
  const suffix = warning === null ? '' : `; warning: ${warning}`
  const line = `${how.padEnd(8)} ${fullName}, ${formatBytes(bytesDone)}${suffix}`
  return [line, ...describeRecords(repository)].join('\n')
}

/** Describes how new the records are and what is missing, because a forge provides no snapshot. */
function describeRecords({ records }: RepositoryProgress): string[] {
  if (!records) return []
  const { asOf, waitingUntil, waitingFor, notes, done } = records
  if (asOf !== null) {
    const read = `${done} issues and pull requests as of ${new Date(asOf).toISOString()}`
    return [read, ...notes].map((each) => `         ${each}`)
  }
  if (waitingUntil === null) return []
  return [`         waiting until ${new Date(waitingUntil).toISOString()}: ${waitingFor ?? ''}`]
}

const MAX_IMPORTED_BYTES = 40 * 2 ** 30

/** Returns warnings about an archive of this size. */
export function archiveWarnings(bytes: number): string[] {
  if (bytes <= MAX_IMPORTED_BYTES) return []
  return [
    `GitHub's importers take archives of up to 40 GiB (43 GB), and this one has ${formatBytes(bytes)}: export fewer repositories at a time`,
  ]
}
