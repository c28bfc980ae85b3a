import type { Db } from '../db/database.ts'

/** Adds to what all processes have counted, by operation. */
export async function addBlobErrors(db: Db, counts: ReadonlyMap<string, number>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Always in the same order: two that add at once must not wait for each other.
    for (const [operation, count] of [...counts].sort()) {
      await tx
        .insertInto('blob_errors')
        .values({ operation, count })
        .onConflict((known) =>
          known
            .column('operation')
            .doUpdateSet((row) => ({ count: row('blob_errors.count', '+', count) })),
        )
        .execute()
    }
  })
}

export async function readBlobErrors(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('blob_errors').selectAll().execute()
  return new Map(rows.map(({ operation, count }) => [operation, count]))
}
