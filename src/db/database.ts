import type { Kysely, SelectQueryBuilder } from 'kysely'
import type { Pool } from 'pg'
import type { Engine } from '../../schema/step.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

export interface Database {
  db: Db
  engine: Engine
  /** Set on PostgreSQL, for code that runs its own SQL. */
  pool?: Pool
  close(): Promise<void>
}

/** Counts the rows of a query that has no selection yet. */
export async function countRows<DB, T extends keyof DB>(
  query: SelectQueryBuilder<DB, T, object>,
): Promise<number> {
  const counted = query.select((of) => of.fn.countAll<number>().as('total'))
  const { total } = await counted.$castTo<{ total: number }>().executeTakeFirstOrThrow()
  return total
}
