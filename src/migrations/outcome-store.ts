import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { ExportTask } from './export-store.ts'
import type { Migration } from './migration.ts'
import { tally } from './tally-store.ts'

export interface Carried {
  segmentKey: string
  reused: boolean
  bytes: number
  startedAt: number
}

export type Outcome = Carried | { reason: string }

/** A repository is being looked at; its bytes as far as they are known. */
export async function noteProgress(
  db: Db,
  { migrationId, position }: ExportTask,
  progress: { startedAt: number; bytesExpected: number; bytesDone: number },
): Promise<void> {
  await db
    .updateTable('migration_repositories')
    .set({
      started_at: progress.startedAt,
      bytes_expected: progress.bytesExpected,
      bytes_done: progress.bytesDone,
    })
    .where('migration_id', '=', migrationId)
    .where('position', '=', position)
    .where('outcome', 'is', null)
    .execute()
}

/** Returns how many repositories of the migration are still on their way. */
export async function noteOutcome(
  tx: Db,
  { migrationId, position }: ExportTask,
  outcome: Outcome,
  now: number,
): Promise<number> {
  const isCarried = 'segmentKey' in outcome
  const { remaining, finished } = await countDown(tx, migrationId, {
    ended: 1,
    omitted: isCarried ? 0 : 1,
    reused: isCarried && outcome.reused ? 1 : 0,
    bytes: isCarried ? outcome.bytes : 0,
  })
  await endRow(tx, { migrationId, position }, outcome, { now, order: finished })
  if ('reason' in outcome) await tally(tx, 'repositories omitted', { now })
  else {
    const name = `repositories ${outcome.reused ? 'reused' : 'exported'}` as const
    await tally(tx, name, { now, bytes: outcome.bytes })
  }
  return remaining
}

/** The same for many at once that cost nothing but the look. */
export async function noteReused(
  tx: Db,
  migrationId: number,
  reused: ReadonlyMap<number, Carried>,
  now: number,
): Promise<void> {
  if (reused.size === 0) return
  const bytes = reused.values().reduce((sum, carried) => sum + carried.bytes, 0)
  const counts = { ended: reused.size, reused: reused.size, omitted: 0, bytes }
  const { finished } = await countDown(tx, migrationId, counts)
  let order = finished - reused.size
  for (const [position, carried] of reused) {
    await endRow(tx, { migrationId, position }, carried, { now, order: ++order })
  }
  await tally(tx, 'repositories reused', { now, bytes, count: reused.size })
}

async function countDown(
  tx: Db,
  migrationId: number,
  { ended, reused, omitted, bytes }: Record<'ended' | 'reused' | 'omitted' | 'bytes', number>,
) {
  const { remaining, repository_count } = await tx
    .updateTable('migrations')
    .set((row) => ({
      remaining: row('remaining', '-', ended),
      reused_count: row('reused_count', '+', reused),
      omitted_count: row('omitted_count', '+', omitted),
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
  await tx
    .updateTable('migration_repositories')
    .set({
      ...('segmentKey' in outcome ? carriedColumns(outcome) : omittedColumns(outcome)),
      finished_at: now,
      finished_order: order,
    })
    .where('migration_id', '=', migrationId)
    .where('position', '=', position)
    .execute()
}

function carriedColumns({ segmentKey, reused, bytes, startedAt }: Carried) {
  return {
    outcome: 'carried',
    segment_key: segmentKey,
    warning: sql<string | null>`(select warning from segments where key = ${segmentKey})`,
    reused: Number(reused),
    bytes_expected: bytes,
    bytes_done: bytes,
    started_at: startedAt,
  }
}

function omittedColumns({ reason }: { reason: string }) {
  return { outcome: 'omitted', reason }
}

/** The first of those that a migration could not carry, and why. */
export async function omittedFrom(
  db: Db,
  { id }: Pick<Migration, 'id'>,
  atMost: number,
): Promise<{ fullName: string; reason: string }[]> {
  const rows = await db
    .selectFrom('migration_repositories')
    .select(['full_name', 'reason'])
    .where('migration_id', '=', id)
    .where('outcome', '=', sql.lit('omitted'))
    .orderBy('position')
    .limit(atMost)
    .execute()
  return rows.map((row) => ({ fullName: row.full_name, reason: row.reason ?? '' }))
}

const RECENT = 50

/** Bytes in a second that the latest exports of single repositories were carried with; null where there were none. */
export async function recentRate(db: Db): Promise<number | null> {
  const rows = await db
    .selectFrom('migration_repositories')
    .select(['bytes_done', 'started_at', 'finished_at'])
    .where('outcome', '=', 'carried')
    .where('reused', '=', 0)
    .where('started_at', 'is not', null)
    .orderBy('migration_id', 'desc')
    .limit(RECENT)
    .execute()
  const bytes = rows.reduce((sum, row) => sum + row.bytes_done, 0)
  const ms = rows.reduce((sum, row) => sum + (row.finished_at! - row.started_at!), 0)
  return bytes > 0 && ms > 0 ? (bytes * 1000) / ms : null
}
