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
