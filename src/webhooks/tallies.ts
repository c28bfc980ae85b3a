import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Of tries; and of what was told, how often it was given up. */
export type DeliveryOutcome = 'delivered' | 'failed' | 'given up'

/** Counts one more, with the transaction that makes it so. */
export async function tallyDelivery(tx: Db, outcome: DeliveryOutcome): Promise<void> {
  await tx
    .updateTable('webhook_tallies')
    .set((row) => ({ count: row('count', '+', 1) }))
    .where('outcome', '=', outcome)
    .execute()
}

export async function readDeliveryTallies(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('webhook_tallies').selectAll().execute()
  return new Map(rows.map(({ outcome, count }) => [outcome, count]))
}

/** Events that are still to be delivered, also those that wait without a job. */
export async function countWaitingEvents(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('webhook_events')
    .select((row) => row.fn.countAll<number>().as('count'))
    // Written out, as the partial index requires.
    .where('state', '=', sql.lit('waiting'))
    .executeTakeFirstOrThrow()
  return count
}
