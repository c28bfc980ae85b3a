import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { unfinishedStates } from './migration.ts'
import { unfinishedLiterals } from './migration-store.ts'

export const COUNTED_OUTCOMES = [
  'repositories exported',
  'repositories reused',
  'repositories skipped',
  'repositories failed',
  'migrations exported',
  'migrations failed',
  'migrations cancelled',
] as const
export type CountedOutcome = (typeof COUNTED_OUTCOMES)[number]

const MINUTE = 60_000
/** A little longer than the longest period of the throughput. */
const MINUTES_TTL_MS = 8 * 24 * 60 * MINUTE

/** Adds to the totals and to the current minute. Called in the transaction that writes the counted rows. */
export async function countOutcome(
  tx: Db,
  name: CountedOutcome,
  { now, bytes = 0, count = 1 }: { now: number; bytes?: number; count?: number },
): Promise<void> {
  await tx
    .updateTable('outcome_counts')
    .set((eb) => ({ count: eb('count', '+', count), bytes: eb('bytes', '+', bytes) }))
    .where('name', '=', name)
    .execute()
  await tx
    .insertInto('outcome_counts_by_minute')
    .values({ minute: now - (now % MINUTE), name, count, bytes })
    .onConflict((oc) =>
      oc.columns(['minute', 'name']).doUpdateSet((eb) => ({
        count: eb('outcome_counts_by_minute.count', '+', count),
        bytes: eb('outcome_counts_by_minute.bytes', '+', bytes),
      })),
    )
    .execute()
}

export const readOutcomeCounts = (db: Db) =>
  db.selectFrom('outcome_counts').selectAll().$narrowType<{ name: CountedOutcome }>().execute()

/** Returns the counts since a time, in buckets. The length of a bucket is a multiple of a minute. */
export async function outcomeCountsSince(db: Db, since: number, bucketMs: number) {
  // A literal, because SQLite would treat a parameter as a fraction.
  const bucket = sql<number>`minute - minute % ${sql.lit(bucketMs)}`
  return db
    .selectFrom('outcome_counts_by_minute')
    .select(['name', bucket.as('bucket')])
    .select((eb) => [
      eb.fn.sum<number>('count').as('count'),
      eb.fn.sum<number>('bytes').as('bytes'),
    ])
    .where('minute', '>=', since)
    .groupBy(['name', bucket])
    .$narrowType<{ name: CountedOutcome }>()
    .execute()
}

export async function deleteOldOutcomeCounts(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('outcome_counts_by_minute')
    .where('minute', '<', now - MINUTES_TTL_MS)
    .execute()
}

/** Returns the number of unfinished migrations by state, and since when the oldest is in that state. */
export async function countUnfinishedByState(db: Db) {
  const rows = await db
    .selectFrom('migrations')
    .select(['state', (eb) => eb.fn.countAll<number>().as('count')])
    .select((eb) => eb.fn.min(eb.fn.coalesce('started_at', 'created_at')).as('oldest'))
    .where('state', 'in', unfinishedLiterals)
    .groupBy('state')
    .execute()
  return new Map(
    unfinishedStates.map((state) => [
      state,
      rows.find((row) => row.state === state) ?? { count: 0, oldest: null },
    ]),
  )
}

/** Adds to the counts of all processes, by operation. */
export async function addBlobErrors(db: Db, counts: ReadonlyMap<string, number>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Sorted, so that two processes cannot deadlock.
    for (const [operation, count] of [...counts].sort()) {
      await tx
        .insertInto('blob_errors')
        .values({ operation, count })
        .onConflict((oc) =>
          oc
            .column('operation')
            .doUpdateSet((eb) => ({ count: eb('blob_errors.count', '+', count) })),
        )
        .execute()
    }
  })
}

export async function readBlobErrors(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('blob_errors').selectAll().execute()
  return new Map(rows.map(({ operation, count }) => [operation, count]))
}
