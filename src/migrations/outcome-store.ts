import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { batchesOf } from '../ground/batches.ts'
import type { ExportTask } from './export-store.ts'
import type { Migration } from './migration.ts'
import type { Reused } from './outcomes.ts'
import { fullNameAt } from './snapshot-store.ts'
import { tally } from './tally-store.ts'

export interface Exported {
  segmentKey: string
  reused: boolean
  bytes: number
  startedAt: number
}

export type Outcome = Exported | { reason: string }

/** A repository is being looked at; its bytes as far as they are known. */
export async function noteProgress(
  db: Db,
  { migrationId, position }: ExportTask,
  progress: { startedAt: number; bytesExpected: number; bytesDone: number },
): Promise<void> {
  const columns = {
    started_at: progress.startedAt,
    bytes_expected: progress.bytesExpected,
    bytes_done: progress.bytesDone,
  }
  await db
    .insertInto('repository_exports')
    .values({ ...NOT_ENDED, migration_id: migrationId, position, ...columns })
    .onConflict((conflict) =>
      conflict
        .columns(['migration_id', 'position'])
        .doUpdateSet(columns)
        .where('repository_exports.outcome', 'is', null),
    )
    .execute()
}

const NOT_ENDED = {
  outcome: null,
  segment_key: null,
  reason: null,
  warning: null,
  started_at: null,
  finished_at: null,
  finished_order: null,
  bytes_expected: null,
  bytes_done: 0,
  reused: 0,
}

/** Returns how many repositories of the migration are still on their way. */
export async function noteOutcome(
  tx: Db,
  { migrationId, position }: ExportTask,
  outcome: Outcome,
  now: number,
): Promise<number> {
  const isExported = 'segmentKey' in outcome
  const { remaining, finished } = await countDown(tx, migrationId, {
    ended: 1,
    skipped: isExported ? 0 : 1,
    reused: isExported && outcome.reused ? 1 : 0,
    bytes: isExported ? outcome.bytes : 0,
  })
  await endRow(tx, { migrationId, position }, outcome, { now, order: finished })
  if ('reason' in outcome) await tally(tx, 'repositories skipped', { now })
  else {
    const name = `repositories ${outcome.reused ? 'reused' : 'exported'}` as const
    await tally(tx, name, { now, bytes: outcome.bytes })
  }
  return remaining
}

/** So that no row is too large. */
const REUSED_IN_A_ROW = 500

/** The same for many at once that cost nothing but the look. */
export async function noteReused(
  tx: Db,
  migrationId: number,
  reused: ReadonlyMap<number, Exported>,
  now: number,
): Promise<void> {
  if (reused.size === 0) return
  const bytes = reused.values().reduce((sum, { bytes: each }) => sum + each, 0)
  const counts = { ended: reused.size, reused: reused.size, skipped: 0, bytes }
  const { finished } = await countDown(tx, migrationId, counts)
  let order = finished - reused.size + 1
  for (const some of batchesOf([...reused], REUSED_IN_A_ROW)) {
    const warnings = await warningsOf(
      tx,
      some.map(([, { segmentKey }]) => segmentKey),
    )
    const list = some.map(([position, { segmentKey, bytes: each, startedAt }]): Reused => {
      const warning = warnings.get(segmentKey)
      const told: [number, string, number, number] = [position, segmentKey, each, now - startedAt]
      return warning === undefined ? told : [...told, warning]
    })
    await tx
      .insertInto('reused_repositories')
      .values({
        migration_id: migrationId,
        first_order: order,
        finished_at: now,
        repositories: JSON.stringify(list),
      })
      .execute()
    order += some.length
  }
  await tally(tx, 'repositories reused', { now, bytes, count: reused.size })
}

/** Of those that have one, by their keys. */
async function warningsOf(tx: Db, keys: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx
    .selectFrom('segments')
    .select(['key', 'warning'])
    .where('key', 'in', keys)
    .where('warning', 'is not', null)
    .execute()
  return new Map(rows.map(({ key, warning }) => [key, warning!]))
}

async function countDown(
  tx: Db,
  migrationId: number,
  { ended, reused, skipped, bytes }: Record<'ended' | 'reused' | 'skipped' | 'bytes', number>,
) {
  const { remaining, repository_count } = await tx
    .updateTable('migrations')
    .set((row) => ({
      remaining: row('remaining', '-', ended),
      reused_count: row('reused_count', '+', reused),
      skipped_count: row('skipped_count', '+', skipped),
      bytes_done: row('bytes_done', '+', bytes),
    }))
    .where('id', '=', migrationId)
    .returning(['remaining', 'repository_count'])
    .executeTakeFirstOrThrow()
  return { remaining, finished: repository_count - remaining }
}

async function endRow(
  tx: Db,
  { migrationId, position }: ExportTask,
  outcome: Outcome,
  { now, order }: { now: number; order: number },
): Promise<void> {
  const columns = {
    ...('segmentKey' in outcome ? exportedColumns(outcome) : skippedColumns(outcome)),
    finished_at: now,
    finished_order: order,
  }
  await tx
    .insertInto('repository_exports')
    .values({ ...NOT_ENDED, migration_id: migrationId, position, ...columns })
    .onConflict((conflict) => conflict.columns(['migration_id', 'position']).doUpdateSet(columns))
    .execute()
}

function exportedColumns({ segmentKey, reused, bytes, startedAt }: Exported) {
  return {
    outcome: 'exported',
    segment_key: segmentKey,
    warning: sql<string | null>`(select warning from segments where key = ${segmentKey})`,
    reused: Number(reused),
    bytes_expected: bytes,
    bytes_done: bytes,
    started_at: startedAt,
  }
}

function skippedColumns({ reason }: { reason: string }) {
  return { outcome: 'skipped', reason }
}

/** The first of those that a migration could not export, and why. */
export async function skippedFrom(
  db: Db,
  { id }: Pick<Migration, 'id'>,
  atMost: number,
): Promise<{ fullName: string; reason: string }[]> {
  const rows = await db
    .selectFrom('repository_exports')
    .select(['position', 'reason'])
    .where('migration_id', '=', id)
    .where('outcome', '=', sql.lit('skipped'))
    .orderBy('position')
    .limit(atMost)
    .execute()
  return Promise.all(
    rows.map(async ({ position, reason }) => ({
      fullName: await fullNameAt(db, id, position),
      reason: reason ?? '',
    })),
  )
}

const RECENT = 50

/** Bytes in a second that the latest exports of single repositories had; null where there were none. */
export async function recentRate(db: Db): Promise<number | null> {
  const rows = await db
    .selectFrom('repository_exports')
    .select(['bytes_done', 'started_at', 'finished_at'])
    .where('outcome', '=', 'exported')
    .where('reused', '=', 0)
    .where('started_at', 'is not', null)
    .orderBy('migration_id', 'desc')
    .limit(RECENT)
    .execute()
  const bytes = rows.reduce((sum, row) => sum + row.bytes_done, 0)
  const ms = rows.reduce((sum, row) => sum + (row.finished_at! - row.started_at!), 0)
  return bytes > 0 && ms > 0 ? (bytes * 1000) / ms : null
}
