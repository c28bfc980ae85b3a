import { batchesOf } from '../ground/batches.ts'

/** The engines limit how many values a statement takes. */
const MAX_ROWS = 500

/** A list of any length, as much of it at a time as one statement takes. */
export const inStatements = <T>(values: readonly T[]): Generator<T[]> => batchesOf(values, MAX_ROWS)

/** What a query finds for a list of any length. */
export async function rowsOfAll<T, R>(
  values: readonly T[],
  query: (some: T[]) => { execute(): Promise<R[]> },
): Promise<R[]> {
  const found: R[][] = []
  for (const some of inStatements(values)) found.push(await query(some).execute())
  return found.flat()
}
