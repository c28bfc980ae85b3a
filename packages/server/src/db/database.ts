import { batchesOf } from '@godwit/lib/chunks'
import { nextTurn } from '@godwit/lib/turns'
import {
  type Generated,
  type Kysely,
  type Selectable,
  type SelectQueryBuilder,
  sql,
  type Updateable,
} from 'kysely'
import type { Pool } from 'pg'
import type { initialTables } from '../schema/0001-tables.ts'
import type { Engine } from '../schema/steps.ts'

type Value<Definition> = Definition extends `text${string}` ? string : number

/** The type of a column, from its SQL. A later step of the schema that adds a column adds its type to `Tables`. */
type Column<Definition> = Definition extends 'id'
  ? Generated<number>
  : Definition extends `${string} default ${string}`
    ? Generated<Value<Definition>>
    : Definition extends `${string} ${'not null' | 'primary key'}${string}`
      ? Value<Definition>
      : Value<Definition> | null

/** The tables that queries may use, which `schema/` describes. */
export type Tables = {
  [Table in keyof typeof initialTables]: {
    -readonly [Name in keyof (typeof initialTables)[Table]]: Column<
      (typeof initialTables)[Table][Name]
    >
  }
}

/** A row as it is read from a table. */
export type Row<Name extends keyof Tables> = Selectable<Tables[Name]>

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
