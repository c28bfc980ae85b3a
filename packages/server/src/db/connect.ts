import { hash } from 'node:crypto'
import { chmodSync, closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '@godwit/lib/errno'
import { lockFile } from '@godwit/lib/file-lock'
import { makeDirectory } from '@godwit/lib/make-directory'
import { UserError } from '@godwit/lib/user-error'
import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { Database, Tables } from './database.ts'
import { shortcuts } from './prepared.ts'
import { sqliteDialect } from './sqlite-dialect.ts'

export interface DatabaseOptions {
  /** The directory of the embedded database, which is used if there is no `databaseUrl`. */
  dataDirectory: string
  databaseUrl: string | undefined
  /** Called when an idle connection breaks. The pool replaces the connection. */
  onIdleError?: (error: Error) => void
  /** Called when the file of the embedded database is found to be damaged. */
  onDamage?: (damage: Error) => void
}

export async function connect(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl, onIdleError } = options
  return databaseUrl === undefined
    ? connectSqlite(options)
    : connectPostgres(databaseUrl, onIdleError)
}

export const sqliteFile = (dataDirectory: string): string => join(dataDirectory, 'godwit.sqlite')

function connectSqlite({ dataDirectory, onDamage }: DatabaseOptions): Database {
  makeDirectory(dataDirectory, 0o700)
  const file = sqliteFile(dataDirectory)
  makePrivate(file)
  const dialect = sqliteDialect(file, onDamage)
  const db = new Kysely<Tables>({ dialect })
  shortcuts.set(db, { read: dialect.read, dataVersion: dialect.dataVersion })
  return { db, engine: 'sqlite', close: () => db.destroy() }
}

/**
 * Lets only this user read the database, which contains signing keys, also if others may read its directory. SQLite gives new files
 * beside it the same mode. An existing file is not opened: closing it would release locks that this process has on it.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch {
    for (const path of [file, `${file}-wal`, `${file}-shm`])
      try {
        chmodSync(path, 0o600)
      } catch {
        // The file may be absent, read-only or of another user. SQLite reports better what prevents its use.
      }
  }
}

async function connectPostgres(url: string, onIdleError?: (error: Error) => void) {
  return databaseOf(await openPool(url, onIdleError))
}

/** Opens connections to a PostgreSQL server. */
export async function openPool(
  url: string,
  onIdleError?: (error: Error) => void,
): Promise<pg.Pool> {
  // Loaded here, because a service with an embedded database never needs it.
  const { default: postgres } = await import('pg')
  const pool = new postgres.Pool({
    connectionString: url,
    application_name: 'godwit',
    max: 10,
    connectionTimeoutMillis: 10_000,
    // Without it, a server that disappeared without closing the connection would never be noticed.
    keepAlive: true,
    types: { getTypeParser: numbersAsNumbers(postgres.types) },
  })
  pool.on('error', (error) => onIdleError?.(error))
  // A connection that breaks within a transaction fails its next query. An unhandled error would end the process before that.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Returns the database of a pool, which it closes. */
export function databaseOf(pool: pg.Pool) {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  shortcuts.set(db, { prepareMany: ({ sql }) => selectMany(pool, sql) })
  async function close(): Promise<void> {
    await db.destroy()
    // If only the pool was used, Kysely has not started and ends nothing: a command would hang on the open connections.
    if (!pool.ending) await pool.end()
  }
  return { db, engine: 'postgres' as const, pool, close }
}

/**
 * Returns a function that runs a query with many sets of parameters as one statement. The statement is parsed and planned once per
 * connection: for a row found by its key, that costs more than finding it. Each parameter becomes a column of a table of requests.
 */
function selectMany(pool: pg.Pool, sql: string): (all: unknown[][]) => Promise<unknown[][]> {
  let statement: { name: string; text: string } | undefined
  return async (all) => {
    statement ??= statementFor(sql, all[0]!)
    const values = all[0]!.map((_, column) => all.map((parameters) => parameters[column]))
    const { rows } = await pool.query<{ request: number }>({ ...statement, values })
    const rowsOfEach: unknown[][] = all.map(() => [])
    for (const row of rows) rowsOfEach[row.request - 1]!.push(row)
    return rowsOfEach
  }
}

function statementFor(sql: string, parameters: readonly unknown[]) {
  const arrays = parameters.map(
    (value, at) => `$${at + 1}::${typeof value === 'number' ? 'bigint' : 'text'}[]`,
  )
  const columns = parameters.map((_, at) => `v${at + 1}`)
  const query = sql.replaceAll(/\$(\d+)/g, 'requests.v$1')
  const text = `select requests.request, found.* from unnest(${arrays.join(', ')})
    with ordinality as requests (${[...columns, 'request'].join(', ')}) cross join lateral (${query}) as found`
  return { name: `godwit-${hash('sha256', text).slice(0, 16)}`, text }
}

/** `pg` returns int8 and numeric as strings. In this schema they are ids, counts and milliseconds, all far below 2^53. */
const numbersAsNumbers = (types: typeof pg.types) =>
  ((oid: number, format?: 'text') =>
    oid === types.builtins.INT8 || oid === types.builtins.NUMERIC
      ? Number
      : types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser

/** Whether PostgreSQL ended this transaction because two transactions waited for each other. */
export const isDeadlock = (error: unknown): boolean => hasCode(error, '40P01')

const MAX_ATTEMPTS = 5

/** Runs a transaction, and again after a deadlock. Throws the deadlock after too many of them. */
export async function retryDeadlocks<T>(transact: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transact()
    } catch (error) {
      if (!isDeadlock(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Allows one server per data directory: throws a UserError if another one runs. Returns a function that releases the lock. */
export function lockDataDirectory(dataDirectory: string): () => void {
  makeDirectory(dataDirectory, 0o700)
  const unlock = lockFile(join(dataDirectory, 'server.lock'))
  if (unlock) return unlock
  throw new UserError(
    `another Godwit server is already running on the data directory ${dataDirectory}: stop it, or set another --data`,
  )
}
