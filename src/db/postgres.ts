import { hash } from 'node:crypto'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'
import { prepareManyWith } from './prepared.ts'
import type { Tables } from './tables.ts'

export function connectPostgres(url: string, onIdleError?: (error: Error) => void): Database {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'godwit',
    max: 10,
    connectionTimeoutMillis: 10_000,
    // A server that went away without a word is noticed in the end.
    keepAlive: true,
    types: { getTypeParser: numbersAsNumbers },
  })
  pool.on('error', (error) => onIdleError?.(error))
  // One that breaks within a transaction fails its next query; unheard, it would end the process before that.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  prepareManyWith(db, (query) => askMany(pool, query.sql))
  async function close(): Promise<void> {
    await db.destroy()
    // Where only the pool itself was asked, Kysely has never begun, and ends nothing: a command would hang on its connections.
    if (!pool.ending) await pool.end()
  }
  return { db, engine: 'postgres', pool, close }
}

/**
 * One statement for any number of askers, parsed and planned once a connection: for a row found by its key, that costs more
 * than finding it. Each parameter becomes a column of what is asked for.
 */
function askMany(pool: pg.Pool, sql: string): (all: unknown[][]) => Promise<unknown[][]> {
  let statement: { name: string; text: string } | undefined
  return async (all) => {
    statement ??= statementFor(sql, all[0]!)
    const values = all[0]!.map((_, column) => all.map((parameters) => parameters[column]))
    const { rows } = await pool.query<{ asker: number }>({ ...statement, values })
    const answers: unknown[][] = all.map(() => [])
    for (const row of rows) answers[row.asker - 1]!.push(row)
    return answers
  }
}

function statementFor(sql: string, parameters: readonly unknown[]) {
  const arrays = parameters.map(
    (value, at) => `$${at + 1}::${typeof value === 'number' ? 'bigint' : 'text'}[]`,
  )
  const columns = parameters.map((_, at) => `v${at + 1}`)
  const question = sql.replaceAll(/\$(\d+)/g, 'asked.v$1')
  const text = `select asked.asker, found.* from unnest(${arrays.join(', ')})
    with ordinality as asked (${[...columns, 'asker'].join(', ')}) cross join lateral (${question}) as found`
  return { name: `godwit-${hash('sha256', text).slice(0, 16)}`, text }
}

/** int8 and numeric come as strings by default; ours are ids, counts and milliseconds, all far below 2^53. */
const numbersAsNumbers: typeof pg.types.getTypeParser = ((oid: number, format?: 'text') =>
  oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
    ? Number
    : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser
