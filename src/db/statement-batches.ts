import { batchesOf } from '../lib/chunks.ts'
import { nextTurn } from '../lib/turns.ts'

/** Both engines limit the number of parameters of a statement. */
const MAX_ROWS = 500

/** Splits a list into batches that fit into one statement. */
export const statementBatches = <T>(values: readonly T[]): Generator<T[]> =>
  batchesOf(values, MAX_ROWS)

/** Runs a query for a list of any length, batch by batch. */
export async function selectInBatches<T, R>(
  values: readonly T[],
  query: (batch: T[]) => { execute(): Promise<R[]> },
): Promise<R[]> {
  const found: R[][] = []
  for (const batch of statementBatches(values)) {
    await nextTurn()
    found.push(await query(batch).execute())
  }
  return found.flat()
}

/** Yields the rows of a query page by page, so that they are never all in memory. `query` selects and orders the rows after one. */
export async function* rowsInPages<K, R extends K>(
  limit: number,
  first: K,
  query: (after: K) => { limit(rows: number): { execute(): Promise<R[]> } },
): AsyncGenerator<R, void, void> {
  for (let after = first; ; ) {
    await nextTurn()
    const rows = await query(after).limit(limit).execute()
    yield* rows
    if (rows.length < limit) return
    after = rows.at(-1)!
  }
}
