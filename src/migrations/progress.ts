import type { Db } from '../db/database.ts'
import { duration, inUnits } from '../lib/quantities.ts'
import { mapInTurns } from '../lib/turns.ts'
import { damageWarning } from './archive-store.ts'
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

export type RepositoryState = 'waiting' | 'exporting' | 'exported' | 'skipped' | 'failed'

/** How far one repository of a migration has come. */
export interface RepositoryProgress {
  fullName: string
  state: RepositoryState
  bytesDone: number
  /** As the catalogue knew it, until it has been looked at. */
  bytesExpected: number
  reused: boolean
  reason: string | null
  /** What is told of it though it was exported. */
  warning: string | null
  startedAt: number | null
  finishedAt: number | null
  /** Its ordinal in the order they ended. */
  order: number | null
  /** What people said about it; null where that is not exported, or not begun. */
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
      ...progressBy(
        outcomes.get(position),
        records.get(position)?.progress ?? null,
        excludeGitData ? 0 : bytes,
      ),
    })),
  }
}

const WAITING: Omit<RepositoryProgress, 'fullName' | 'bytesExpected' | 'records'> = {
  state: 'waiting',
  bytesDone: 0,
  reused: false,
  reason: null,
  warning: null,
  startedAt: null,
  finishedAt: null,
  order: null,
}

function progressBy(
  outcome: RepositoryOutcome | undefined,
  records: RecordsProgress | null,
  catalogued: number,
): Omit<RepositoryProgress, 'fullName'> {
  const startedAt = records?.startedAt ?? null
  const begun = startedAt === null ? 'waiting' : 'exporting'
  if (!outcome) return { ...WAITING, state: begun, startedAt, records, bytesExpected: catalogued }
  const { segmentKey: _, outcome: ended, bytesExpected, ...rest } = outcome
  const state = ended ?? (rest.startedAt === null ? begun : 'exporting')
  return {
    ...rest,
    state,
    startedAt: startedAt ?? rest.startedAt,
    records,
    bytesExpected: bytesExpected ?? catalogued,
  }
}

export interface Totals {
  repositories: number
  exported: number
  reused: number
  skipped: number
  failed: number
  remaining: number
  bytesDone: number
  /** Of those that were not skipped and did not fail: as the catalogue knew them, until they have been looked at. */
  bytesExpected: number
  /** Bytes written in a second, over the whole export so far; reused ones cost nothing and do not count. */
  bytesPerSecond: number | null
  secondsLeft: number | null
  /** Issues and pull requests that were read of a forge, and that are known to be there. */
  recordsDone: number
  recordsExpected: number
  /** When the forge can be asked again, where some repository waits for that. */
  waitingUntil: number | null
}

export function totalsOf({ repositories, startedAt, endedAt }: Progress, now: number): Totals {
  const inState = (state: RepositoryState) => repositories.filter((each) => each.state === state)
  const sum = (some: RepositoryProgress[], of: (each: RepositoryProgress) => number) =>
    some.reduce((total, each) => total + of(each), 0)
  const bytesDone = sum(repositories, (each) => each.bytesDone)
  const bytesExpected = sum(repositories, (each) => (each.reason === null ? each.bytesExpected : 0))
  const written = sum(repositories, (each) => (each.reused ? 0 : each.bytesDone))
  const seconds = startedAt === null ? 0 : ((endedAt ?? now) - startedAt) / 1000
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
    recordsDone: sum(repositories, ({ records }) => records?.done ?? 0),
    recordsExpected: sum(repositories, ({ records }) => records?.expected ?? 0),
    waitingUntil: endedAt === null ? firstWait(repositories) : null,
  }
}

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

/** What became of a migration: what was exported, reused, skipped, what failed and why, in which size and time. */
export interface Report {
  migration: Migration
  progress: Progress
  totals: Totals
  seconds: number | null
  /** What is to be told of the archive as a whole. */
  warnings: string[]
}

/** `damaged` names the repositories whose data in the archive is damaged. */
export function reportOf(
  migration: Migration,
  progress: Progress,
  damaged: readonly string[],
  now: number,
): Report {
  const { startedAt, endedAt } = progress
  const seconds = startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000
  const totals = totalsOf(progress, now)
  const warnings = [
    ...(damaged.length > 0 ? [damageWarning(damaged)] : []),
    ...archiveWarnings(totals.bytesExpected ?? totals.bytesDone),
  ]
  return { migration, progress, totals, seconds, warnings }
}

/** The same for people. */
export function describeReport(report: Report): string {
  const { migration, progress, totals, seconds, warnings } = report
  const { exported, reused, skipped, failed, remaining, bytesDone } = totals
  const ended = progress.endedAt === null ? '' : ` on ${new Date(progress.endedAt).toISOString()}`
  const lines = [
    `Migration ${migration.id} (${migration.guid}) of ${migration.owner.login} is ${stateInWords(progress, totals)}${ended}.`,
    `${totals.repositories} repositories: ${exported} exported (${reused} of them reused), ${skipped} skipped, ${failed} failed, ${remaining} not ended.`,
    `${inUnits(bytesDone)} of git data${seconds === null ? '' : ` in ${duration(seconds)}`}.`,
  ]
  if (totals.recordsExpected > 0)
    lines.push(`${totals.recordsDone} issues and pull requests with all that belongs to them.`)
  lines.push(...warnings.map((warning) => `Warning: ${warning}.`))
  return [...lines, '', ...progress.repositories.map(describeRepository), ''].join('\n')
}

/** Partial is not whole. */
const stateInWords = ({ state }: Progress, { skipped }: Totals): string =>
  state === 'exported' && skipped > 0 ? 'exported in part' : state

function describeRepository(repository: RepositoryProgress): string {
  const { fullName, state, reused, bytesDone, reason, warning } = repository
  if (reason !== null) return `${state.padEnd(8)} ${fullName}: ${reason}`
  const how = state === 'exported' && reused ? 'reused' : state
  const told = warning === null ? '' : `; warning: ${warning}`
  const line = `${how.padEnd(8)} ${fullName}, ${inUnits(bytesDone)}${told}`
  return [line, ...describeRecords(repository)].join('\n')
}

/** A forge gives no snapshot: how new it is, and what it did not give. */
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

const LARGEST_IMPORTED = 40 * 2 ** 30

/** What is to be told of an archive with so many bytes, whoever made it. */
export function archiveWarnings(bytes: number): string[] {
  if (bytes <= LARGEST_IMPORTED) return []
  return [
    `GitHub's importers take archives of up to 40 GiB (43 GB), and this one has ${inUnits(bytes)}: export fewer repositories at a time`,
  ]
}
