import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { sqliteDialect } from './sqlite-dialect.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>
type Engine = 'sqlite' | 'postgres'

export interface Database {
  db: Db
  engine: Engine
  /** Of PostgreSQL, for parts that bring SQL of their own. */
  pool?: pg.Pool
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Where the embedded database lives when there is no `databaseUrl`. */
  dataDirectory: string
  databaseUrl: string | undefined
  /** Told of connections that broke while idle; the pool replaces them by itself. */
  onIdleError?: (error: Error) => void
}

export function connect({ dataDirectory, databaseUrl, onIdleError }: DatabaseOptions): Database {
  return databaseUrl === undefined
    ? connectSqlite(dataDirectory)
    : connectPostgres(databaseUrl, onIdleError)
}

function connectSqlite(dataDirectory: string): Database {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  const db = new Kysely<Tables>({ dialect: sqliteDialect(join(dataDirectory, 'godwit.sqlite')) })
  return { db, engine: 'sqlite', close: () => db.destroy() }
}

function connectPostgres(url: string, onIdleError?: (error: Error) => void): Database {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'godwit',
    max: 10,
    connectionTimeoutMillis: 10_000,
    types: { getTypeParser: numbersAsNumbers },
  })
  pool.on('error', (error) => onIdleError?.(error))
  // One that breaks within a transaction fails its next query; unheard, it would end the process before that.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return { db, engine: 'postgres', pool, close: () => db.destroy() }
}

/** int8 and numeric come as strings by default; ours are ids, counts and milliseconds, all far below 2^53. */
const numbersAsNumbers: typeof pg.types.getTypeParser = ((oid: number, format?: 'text') =>
  oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
    ? Number
    : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser

const UNIQUE_VIOLATIONS = new Set<unknown>([2067, 1555, '23505'])

export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return UNIQUE_VIOLATIONS.has(errcode) || UNIQUE_VIOLATIONS.has(code)
}

/** Two transactions waited for each other, and PostgreSQL ended this one. */
export const isDeadlock = (error: unknown): boolean =>
  (error as { code?: unknown }).code === '40P01'
