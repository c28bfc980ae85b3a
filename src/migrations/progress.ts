import type { Db } from '../db/database.ts'
import { mapInTurns } from '../lib/turns.ts'
import type { Migration, MigrationOptions } from './migration.ts'
import { outcomesOf, type RepositoryOutcome } from './outcomes.ts'
import { type RecordsProgress, recordExportsOf } from './record-store.ts'
import { namedRepositoriesOf } from './snapshot-store.ts'
import { type MigrationState, type ShownState, shownState } from './states.ts'

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
