import { join } from 'node:path'
import { Kysely } from 'kysely'
import { hasCode } from '../lib/errno.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import type { Database } from './database.ts'
import { cacheUntilChange, prepareWith } from './prepared.ts'
import { sqliteDialect } from './sqlite-dialect.ts'
import type { Tables } from './tables.ts'

export interface DatabaseOptions {
  /** Where the embedded database lives when there is no `databaseUrl`. */
  dataDirectory: string
  databaseUrl: string | undefined
  /** Told of connections that broke while idle; the pool replaces them by itself. */
  onIdleError?: (error: Error) => void
  /** Told when the embedded database's file turns out to be damaged. */
  onDamage?: (damage: Error) => void
}

export async function connect(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl, onIdleError } = options
  if (databaseUrl === undefined) return connectSqlite(options)
  // Loaded only here: most never need it.
  const { connectPostgres } = await import('./postgres.ts')
  return connectPostgres(databaseUrl, onIdleError)
}

export const sqliteFile = (dataDirectory: string): string => join(dataDirectory, 'godwit.sqlite')

function connectSqlite({ dataDirectory, onDamage }: DatabaseOptions): Database {
  makeDirectory(dataDirectory, 0o700)
  const dialect = sqliteDialect(sqliteFile(dataDirectory), onDamage)
  const db = new Kysely<Tables>({ dialect })
  cacheUntilChange(db, dialect.changes)
  prepareWith(db, (query) => async (parameters) => {
    const asked = { ...query, parameters }
    return (await (dialect.read(asked) ?? db.executeQuery(asked))).rows
  })
  return { db, engine: 'sqlite', close: () => db.destroy() }
}

/** Two transactions waited for each other, and PostgreSQL ended this one. */
export const isDeadlock = (error: unknown): boolean => hasCode(error, '40P01')
