import { type Kysely, type SelectQueryBuilder, sql, type Updateable } from 'kysely'
import type { Pool } from 'pg'
import type { Engine } from '../../schema/step.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

/** The largest value of an integer column in PostgreSQL. */
export const MAX_INTEGER = 2 ** 31 - 1

/** Writes more in the transaction of a change, which fails if this fails. */
export type AlsoWrite<Changed extends unknown[] = []> = (
  tx: Db,
  ...changed: Changed
) => Promise<void>

export interface Database {
  db: Db
  engine: Engine
  /** Set on PostgreSQL, for code that runs its own SQL. */
  pool?: Pool
  close(): Promise<void>
}

/** Serializes transactions that call this for the same row, on both engines, by an update that changes nothing. */
export async function lockRow(tx: Db, table: 'accounts' | 'webhooks', id: number): Promise<void> {
  await sql`update ${sql.table(table)} set created_at = created_at where id = ${id}`.execute(tx)
}

/** Updates columns of the row with this id. */
export async function updateRow<T extends 'accounts' | 'schedules' | 'webhooks'>(
  db: Db,
  table: T,
  id: number,
  columns: Updateable<Tables[T]>,
): Promise<void> {
  // Kysely does not know the columns of a table that is a type parameter.
  const update = db.updateTable(table as 'accounts').set(columns as Updateable<Tables['accounts']>)
  await update.where('id', '=', id).execute()
}

/** Returns whether a query finds, or a statement returns, any row. */
export const hasRow = async (query: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> =>
  (await query.executeTakeFirst()) !== undefined

/** Counts the rows of a query that has no selection yet. */
export async function countRows<DB, T extends keyof DB>(query: SelectQueryBuilder<DB, T, object>) {
  const counted = query.select((eb) => eb.fn.countAll<number>().as('total'))
  const { total } = await counted.$castTo<{ total: number }>().executeTakeFirstOrThrow()
  return total
}
