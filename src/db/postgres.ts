import { hash } from 'node:crypto'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'
import { prepareWith } from './prepared.ts'
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
  prepareWith(db, (query) => {
    // Parsed and planned once a connection: for a row found by its key, that costs more than finding it.
    const statement = { name: `godwit-${hash('sha256', query.sql).slice(0, 16)}`, text: query.sql }
    return async (values) => (await pool.query({ ...statement, values })).rows
  })
  return { db, engine: 'postgres', pool, close: () => db.destroy() }
}

/** int8 and numeric come as strings by default; ours are ids, counts and milliseconds, all far below 2^53. */
const numbersAsNumbers: typeof pg.types.getTypeParser = ((oid: number, format?: 'text') =>
  oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
    ? Number
    : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser
