import { isPartial } from '@godwit/contract/schemas/describe-outcome'
import { describeLosses } from '@godwit/lib/findings'
import { summarizeNames } from '@godwit/lib/names'
import { formatBytes, formatCount, formatDuration } from '@godwit/lib/quantities'
import { mapInTurns } from '@godwit/lib/turns'
import type { Db } from '../db/database.ts'
import { estimateSecondsLeft, STALLED_MS } from './estimate.ts'
import {
  type Migration,
  type MigrationOptions,
  type MigrationState,
  type ShownState,
  shownState,
  unfinishedStates,
} from './migration.ts'
import { readColumns } from './migration-store.ts'
import {
  NOT_BEGUN,
  outcomesOf,
  type RecordsProgress,
  type RepositoryOutcome,
  readRecordExports,
} from './outcomes.ts'
import { namedRepositoriesOf } from './repository-list-store.ts'

type RepositoryState = 'waiting' | 'exporting' | 'exported' | 'skipped' | 'failed'

/** The step of a repository's export. `queued`: its records are stored, and the export of its git data has not started. */
type RepositoryPhase = 'records' | 'queued' | 'packing'

type MigrationPhase = 'waiting' | 'records' | 'packing' | 'sealing'

export type Progress = Awaited<ReturnType<typeof progressOf>>
export type RepositoryProgress = Progress['repositories'][number]

export async function progressOf(db: Db, { id }: Pick<Migration, 'id'>) {
  const times = ['created_at', 'started_at', 'ended_at'] as const
  const columns = ['state', 'reason', 'options', 'repository_count', ...times] as const
  const migration = await readColumns(db, id, columns)
  const outcomes = await outcomesOf(db, { id })
  const records = await readRecordExports(db, { id })
  const named = await namedRepositoriesOf(db, { id, repositoryCount: migration.repository_count })
  const { excludeGitData } = JSON.parse(migration.options) as MigrationOptions
  const state = shownState(migration.state as MigrationState, migration.reason)
  const isUnfinished = unfinishedStates.includes(state)
  return {
    state,
    reason: migration.reason,
    createdAt: migration.created_at,
    startedAt: migration.started_at,
    endedAt: migration.ended_at,
    repositories: await mapInTurns(named, ({ fullName, bytes }, position) => {
      const one = progressOfOne(
        outcomes.get(position) ?? NOT_BEGUN,
        records.get(position)?.progress ?? null,
        excludeGitData ? 0 : bytes,
      )
      /** Null unless it is being exported. */
      const phase = isUnfinished ? phaseOf(one) : null
      return { fullName, ...one, phase }
    }),
  }
}

function progressOfOne(
  { segmentKey, outcome, bytesExpected, ...rest }: RepositoryOutcome,
  records: RecordsProgress | null,
  indexedBytes: number,
) {
  const startedAt = records?.startedAt ?? rest.startedAt
  const state: RepositoryState = outcome ?? (startedAt === null ? 'waiting' : 'exporting')
  return {
    ...rest,
    state,
    startedAt,
    /** When the export of its git data began. Without git data, there is no segment. */
    packingSince: outcome === 'exported' && segmentKey === null ? null : rest.startedAt,
    /** Null if records are not exported, or not begun. */
    records,
    /** Until the repository is examined, its size in the repository index. */
    bytesExpected: bytesExpected ?? indexedBytes,
  }
}

function phaseOf(repository: ReturnType<typeof progressOfOne>): RepositoryPhase | null {
  const { state, packingSince, records } = repository
  if (state !== 'exporting') return null
  if (packingSince !== null) return 'packing'
  return records?.finishedAt === null ? 'records' : 'queued'
}

export function totalsOf(progress: Progress, now: number) {
  const { state, repositories, startedAt, endedAt } = progress
  const inState = (wanted: RepositoryState) => repositories.filter((each) => each.state === wanted)
  const bytesDone = sum(repositories, (each) => each.bytesDone)
  // Skipped and failed repositories have a reason.
  const bytesExpected = sum(repositories, (each) => (each.reason === null ? each.bytesExpected : 0))
  const remaining = inState('waiting').length + inState('exporting').length
  const isUnfinished = unfinishedStates.includes(state)
  const stall = isUnfinished ? stallOf(progress, remaining, now) : null
  return {
    repositories: repositories.length,
    exported: inState('exported').length,
    reused: repositories.filter((each) => each.reused).length,
    incomplete: repositories.filter((each) => each.state === 'exported' && each.missingLfs > 0)
      .length,
    skipped: inState('skipped').length,
    failed: inState('failed').length,
    remaining,
    phase: isUnfinished ? phaseOfAll(progress, remaining) : null,
    percent: state === 'exported' ? 100 : donePercent(repositories, bytesExpected),
    bytesDone,
    bytesExpected,
    bytesPerSecond: bytesPerSecond(repositories, endedAt ?? now),
    secondsLeft: secondsLeft(),
    // Issues and pull requests that were read from the forge, and that are known to exist.
    recordsDone: sum(repositories, ({ records }) => records?.done ?? 0),
    recordsExpected: sum(repositories, ({ records }) => records?.expected ?? 0),
    waitingUntil: isUnfinished ? firstWait(repositories) : null,
    /** Set if it makes no progress. */
    stall,
  }

  function secondsLeft(): number | null {
    if (!isUnfinished) return 0
    // The time that sealing takes depends on the blob store.
    if (startedAt === null || remaining === 0 || stall) return null
    return estimateSecondsLeft(repositories, { startedAt, now })
  }
}

const sum = (some: readonly RepositoryProgress[], of: (each: RepositoryProgress) => number) =>
  some.reduce((total, each) => total + of(each), 0)

function phaseOfAll({ state, repositories }: Progress, remaining: number): MigrationPhase {
  if (state === 'pending') return 'waiting'
  if (remaining === 0) return 'sealing'
  const phases = new Set(repositories.map(({ phase }) => phase))
  if (phases.has('packing')) return 'packing'
  return phases.has('records') ? 'records' : 'waiting'
}

const MAX_WAITING_NAMES = 3

/** Returns since when a migration makes no progress, and what it waits for; null if it makes progress, or waits for the forge. */
function stallOf(progress: Progress, remaining: number, now: number) {
  const { repositories, createdAt, startedAt } = progress
  const times = repositories.flatMap(({ finishedAt, packingSince, progressAt, records }) => [
    ...[finishedAt, packingSince, progressAt],
    ...[records?.startedAt, records?.progressAt, records?.finishedAt],
  ])
  const since = times.reduce<number>(
    (latest, each) => Math.max(latest, each ?? 0),
    startedAt ?? createdAt,
  )
  if (now - since <= STALLED_MS || (firstWait(repositories) ?? 0) > now) return null
  const phase = phaseOfAll(progress, remaining)
  if (phase === 'sealing') return { since, waitingFor: 'the archive to be sealed' }
  const names = repositories.filter((each) => each.phase === phase).map((each) => each.fullName)
  if (names.length === 0) return { since, waitingFor: 'a worker' }
  const what = phase === 'records' ? 'issues and pull requests' : 'git data'
  return { since, waitingFor: `${what} of ${summarizeNames(names, MAX_WAITING_NAMES)}` }
}

/** The number of repositories and their bytes count equally. It is 100 only when the archive is complete. */
function donePercent(repositories: readonly RepositoryProgress[], bytesExpected: number): number {
  const byRepositories = sum(repositories, doneFraction) / Math.max(repositories.length, 1)
  const bytes = sum(repositories, (each) =>
    each.reason === null ? each.bytesExpected * doneFraction(each) : 0,
  )
  const byBytes = bytesExpected > 0 ? bytes / bytesExpected : byRepositories
  return Math.min(Math.floor(50 * (byRepositories + byBytes)), 99)
}

/** Records are the first half of a repository that has them. */
function doneFraction({ finishedAt, records, bytesDone, bytesExpected }: RepositoryProgress) {
  if (finishedAt !== null) return 1
  const packed = bytesExpected > 0 ? Math.min(bytesDone / bytesExpected, 1) : 0
  if (!records) return packed
  const read = records.finishedAt === null ? records.done / Math.max(records.expected, 1) : 1
  return (Math.min(read, 1) + packed) / 2
}

const MIN_RATED_MS = 1000
const MIN_RATE = 1000

/** Returns the average since the first git data was exported, without reused repositories; null if that is next to nothing. */
function bytesPerSecond(repositories: readonly RepositoryProgress[], until: number): number | null {
  const packed = repositories.filter(({ packingSince, reused }) => packingSince !== null && !reused)
  const written = sum(packed, ({ bytesDone }) => bytesDone)
  const since = packed.reduce((first, each) => Math.min(first, each.packingSince!), until)
  if (until - since < MIN_RATED_MS) return null
  const rate = Math.round((written * 1000) / (until - since))
  return rate < MIN_RATE ? null : rate
}

/** Returns when the first request can be sent to the forge again, or null if no repository waits for that. */
function firstWait(repositories: readonly RepositoryProgress[]): number | null {
  const waits = repositories.flatMap(({ records, state }) =>
    state === 'exporting' ? (records?.waitingUntil ?? []) : [],
  )
  return waits.length === 0 ? null : waits.reduce((first, each) => Math.min(first, each))
}

export type Report = ReturnType<typeof reportOf>

interface ReportOptions {
  /** The names of the repositories whose data in the archive is damaged. */
  damaged: readonly string[]
  installedVersion?: string | undefined
  now: number
}

export function reportOf(
  migration: Migration,
  progress: Progress,
  { damaged, installedVersion, now }: ReportOptions,
) {
  const { startedAt, endedAt } = progress
  const seconds = startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000
  const totals = totalsOf(progress, now)
  const warnings = archiveWarnings(totals.bytesExpected, installedVersion)
  if (damaged.length > 0)
    warnings.unshift(
      `the stored data of ${summarizeNames(damaged)} is damaged: start a new migration to export it again`,
    )
  return { migration, progress, totals, seconds, warnings }
}

/** Returns the report as text. */
export function describeReport(report: Report): string {
  const { migration, progress, totals, seconds, warnings } = report
  const { exported, reused, incomplete, skipped, failed, remaining, bytesDone } = totals
  const ended = progress.endedAt === null ? '' : ` on ${new Date(progress.endedAt).toISOString()}`
  const lines = [
    `Migration ${migration.id} (${migration.guid}) of ${migration.owner.login} ${isPartial({ ...progress, repositories: totals }) ? 'was partly exported' : STATE_TEXTS[progress.state]}${ended}.`,
    `${formatCount(totals.repositories, 'repository')}: ${exported} exported (${[`${reused} of them reused`, ...(incomplete > 0 ? [`${incomplete} with missing LFS objects`] : [])].join(', ')}), ${skipped} skipped, ${failed} failed, ${remaining} not ended.`,
    `${formatBytes(bytesDone)} of git and LFS data${seconds === null ? '' : ` in ${formatDuration(seconds)}`}.`,
  ]
  if (totals.recordsExpected > 0)
    lines.push(`${totals.recordsDone} issues and pull requests with their comments and files.`)
  if (totals.stall)
    lines.push(
      `No progress since ${new Date(totals.stall.since).toISOString()}: waiting for ${totals.stall.waitingFor}. The log of the service says more.`,
    )
  lines.push(...warnings.map((warning) => `Warning: ${warning}.`))
  return [...lines, '', ...progress.repositories.map(describeRepository), ''].join('\n')
}

const STATE_TEXTS: Record<ShownState, string> = {
  pending: 'is pending',
  exporting: 'is exporting',
  exported: 'was exported',
  failed: 'failed',
  cancelled: 'was cancelled',
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
  const { asOf, waitingUntil, waitingFor, losses, done } = records
  if (asOf !== null) {
    const read = `${done} issues and pull requests as of ${new Date(asOf).toISOString()}`
    return [read, ...describeLosses(losses)].map((each) => `         ${each}`)
  }
  if (waitingUntil === null) return []
  return [`         waiting until ${new Date(waitingUntil).toISOString()}: ${waitingFor ?? ''}`]
}

/** The size of the largest archives that GitHub's importers accept, by the version of GitHub Enterprise Server that wrote them. */
const ARCHIVE_LIMITS = [
  { from: [3, 13], gib: 40 },
  { from: [3, 12], gib: 20 },
  { from: [3, 8], gib: 10 },
  { from: [0, 0], gib: 2 },
] as const

/** Returns warnings about an archive of this size. Without a version, the limit of current versions applies. */
export function archiveWarnings(bytes: number, installedVersion: string | undefined): string[] {
  const [major = 0, minor = 0] = installedVersion?.split('.').map(Number) ?? ARCHIVE_LIMITS[0].from
  const isReached = ({ from }: (typeof ARCHIVE_LIMITS)[number]) =>
    major > from[0] || (major === from[0] && minor >= from[1])
  const { gib } = ARCHIVE_LIMITS.find(isReached)!
  if (bytes <= gib * 2 ** 30) return []
  const newer = gib === 40 ? '' : `, or report version 3.13.0 or newer (--installed-version)`
  return [
    `GitHub's importers take archives of up to ${gib} GiB (${formatBytes(gib * 2 ** 30)})${gib === 40 ? '' : ` of version ${installedVersion}`}, and this one has ${formatBytes(bytes)}: export fewer repositories at a time${newer}`,
  ]
}
