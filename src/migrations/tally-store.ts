import type { Db } from '../db/connect.ts'
import { unfinishedStates } from './states.ts'

export type Tally =
  | 'repositories exported'
  | 'repositories reused'
  | 'repositories omitted'
  | 'migrations exported'
  | 'migrations failed'

/** Counts one more, or several, with the transaction that makes it so. */
export async function tally(tx: Db, name: Tally, bytes = 0, count = 1): Promise<void> {
  await tx
    .updateTable('tallies')
    .set((row) => ({ count: row('count', '+', count), bytes: row('bytes', '+', bytes) }))
    .where('name', '=', name)
    .execute()
}

export interface Tallied {
  name: Tally
  count: number
  bytes: number
}

export async function readTallies(db: Db): Promise<Tallied[]> {
  const rows = await db.selectFrom('tallies').selectAll().execute()
  return rows as Tallied[]
}

export async function countUnfinishedByState(db: Db): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('migrations')
    .select(['state', (of) => of.fn.countAll<number>().as('count')])
    .where('state', 'in', unfinishedStates)
    .groupBy('state')
    .execute()
  return new Map(
    unfinishedStates.map((state) => [state, rows.find((row) => row.state === state)?.count ?? 0]),
  )
}
