import { batchesOf } from '../lib/batches.ts'
import { nextTurn } from '../lib/turns.ts'

/** The engines limit how many values a statement takes. */
const MAX_ROWS = 500

/** A list of any length, as much of it at a time as one statement takes. */
export const statementBatches = <T>(values: readonly T[]): Generator<T[]> =>
  batchesOf(values, MAX_ROWS)

/** What a query finds for a list of any length. */
export async function selectInBatches<T, R>(
  values: readonly T[],
  query: (some: T[]) => { execute(): Promise<R[]> },
): Promise<R[]> {
  const found: R[][] = []
  for (const some of statementBatches(values)) {
    await nextTurn()
    found.push(await query(some).execute())
  }
  return found.flat()
}

/** All rows of a query that returns them in the order of their positions, so many at a time. */
export async function rowsByPosition<R extends { position: number }>(
  query: (page: { after: number; atMost: number }) => { execute(): Promise<R[]> },
): Promise<R[]> {
  const found: R[][] = []
  for (let after = -1; ; ) {
    await nextTurn()
    const rows = await query({ after, atMost: MAX_ROWS }).execute()
    found.push(rows)
    if (rows.length < MAX_ROWS) return found.flat()
    after = rows.at(-1)!.position
  }
}
