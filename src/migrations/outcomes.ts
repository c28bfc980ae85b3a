import { type Db, type Row, rowsInPages } from '../db/database.ts'
import { nextTurn } from '../lib/turns.ts'
import type { Migration } from './migration.ts'

/** The result of one repository of a migration so far. */
export type RepositoryOutcome = ReturnType<typeof outcomeOf>

const ROWS_AT_ONCE = 500

/** Returns results by position. Repositories whose export has not begun are missing. */
export async function outcomesOf(
  db: Db,
  { id }: Pick<Migration, 'id'>,
): Promise<Map<number, RepositoryOutcome>> {
  const outcomes = new Map<number, RepositoryOutcome>()
  const reused = await db
    .selectFrom('reused_repositories')
    .selectAll()
    .where('migration_id', '=', id)
    .execute()
  for (const row of reused) {
    await nextTurn()
    for (const [position, outcome] of reusedIn(row)) outcomes.set(position, outcome)
  }
  const exports = rowsInPages(ROWS_AT_ONCE, { position: -1 }, (after) =>
    db
      .selectFrom('repository_exports')
      .selectAll()
      .where('migration_id', '=', id)
      .where('position', '>', after.position)
      .orderBy('position'),
  )
  for await (const row of exports) outcomes.set(row.position, outcomeOf(row))
  return outcomes
}

/** An element of `reused_repositories.repositories`. */
export type Reused = [
  position: number,
  segmentKey: string,
  bytes: number,
  tookMs: number,
  warning?: string,
  missingLfs?: number,
]

function reusedIn(row: Row<'reused_repositories'>): [number, RepositoryOutcome][] {
  const reused = JSON.parse(row.repositories) as Reused[]
  return reused.map(([position, segmentKey, bytes, tookMs, warning, missingLfs], at) => [
    position,
    {
      ...NOT_BEGUN,
      outcome: 'exported',
      segmentKey,
      warning: warning ?? null,
      missingLfs: missingLfs ?? 0,
      startedAt: row.finished_at - tookMs,
      finishedAt: row.finished_at,
      order: row.first_order + at,
      bytesExpected: bytes,
      bytesDone: bytes,
      reused: true,
    },
  ])
}

export const EMPTY_ROW = {
  outcome: null,
  segment_key: null,
  reason: null,
  warning: null,
  missing_lfs: 0,
  started_at: null,
  finished_at: null,
  finished_order: null,
  bytes_expected: null,
  bytes_done: 0,
  progress_at: null,
  reused: 0,
  fingerprint: null,
}

export const NOT_BEGUN = outcomeOf(EMPTY_ROW)

function outcomeOf(row: Omit<Row<'repository_exports'>, 'migration_id' | 'position'>) {
  return {
    /** `failed` if the migration fails because of it, `skipped` if it continues without it, null until the export has ended. */
    outcome: row.outcome as 'exported' | 'skipped' | 'failed' | null,
    segmentKey: row.segment_key,
    /** Why it was not exported. */
    reason: row.reason,
    /** Shown to the owner although it was exported. */
    warning: row.warning,
    /** The number of LFS objects that its host does not have. */
    missingLfs: row.missing_lfs,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    /** Its number in the order in which the repositories ended. */
    order: row.finished_order,
    bytesExpected: row.bytes_expected,
    bytesDone: row.bytes_done,
    /** When its progress was last recorded, before its end. */
    progressAt: row.progress_at,
    reused: row.reused === 1,
  }
}
