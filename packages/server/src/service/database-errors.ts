import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, hasCode } from '@godwit/lib/errno'
import { EXIT, UserError } from '@godwit/lib/user-error'
import type { Database } from '../db/database.ts'
import { isPostgresUnavailable } from '../db/postgres-unavailable.ts'
import type { Log } from './log.ts'

class DatabaseUnreachable extends UserError {
  override readonly exitCode: number = EXIT.unreachable
}

/** The advice for a database with another encoding, which cannot be changed. */
export const UTF8_REMEDY =
  'create one with `createdb --encoding=UTF8 --template=template0 NAME`, and copy the data with pg_dump if there is any'

/** Connects. Throws unless the encoding is UTF8: names and descriptions may be in any language. */
export async function requireUtf8(
  { pool }: Database,
  databaseUrl: string,
  flag: DatabaseFlag,
): Promise<void> {
  const where = describeDatabase(databaseUrl, flag)
  let encoding: unknown
  try {
    encoding = (await pool?.query('show server_encoding'))?.rows[0].server_encoding
  } catch (error) {
    const explained = explainDatabaseError(error, databaseUrl, flag)
    if (explained !== error) throw explained
    // The cause is in the URL, such as a missing certificate or an unknown option.
    const { message } = error as Error
    throw new UserError(`${where} cannot be used: ${message}`, { cause: error })
  }
  if (encoding === 'UTF8') return
  throw new UserError(`${where} has encoding ${encoding}, not UTF8: ${UTF8_REMEDY}`)
}

/** Names the database without the complete URL, which may contain a password. */
const describeDatabase = (databaseUrl: string, flag: DatabaseFlag): string =>
  `the database at ${new URL(databaseUrl).host || 'this machine'} (${flag})`

/** Names the URL in messages. */
type DatabaseFlag = '--database-url' | '--to-database-url'

/** Converts an error of PostgreSQL or its connection to a message with advice. Returns any other error unchanged. */
export function explainDatabaseError(
  error: unknown,
  databaseUrl: string,
  flag: DatabaseFlag = '--database-url',
): unknown {
  if (error instanceof UserError) return error
  const { message, syscall } = error as NodeJS.ErrnoException
  // A missing socket means that the server does not run; another missing file is one that the URL names.
  const code = syscall === 'connect' && hasCode(error, 'ENOENT') ? 'ECONNREFUSED' : codeOf(error)
  const where = describeDatabase(databaseUrl, flag)
  const options = { cause: error }
  switch (code) {
    case 'ECONNREFUSED':
      return new DatabaseUnreachable(
        `${where} does not respond: check that PostgreSQL is running`,
        options,
      )
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new DatabaseUnreachable(`${where}: no such host`, options)
    case '28P01':
    case '28000':
      return new UserError(`${where} refuses this user: ${message}`, options)
    case '3D000':
      return new UserError(
        `${where} has no database ${new URL(databaseUrl).pathname.slice(1)}: create it with createdb`,
        options,
      )
    case '42501':
      return new UserError(`${where}: this user may not create tables: ${message}`, options)
  }
  const isTimeout = /timeout|ETIMEDOUT|EHOSTUNREACH/.test(`${code} ${message}`)
  if (isTimeout) return new DatabaseUnreachable(`${where} does not respond: ${message}`, options)
  return isPostgresUnavailable(error)
    ? new DatabaseUnreachable(`${where} is not available: ${message}`, options)
    : error
}

/** Long enough for a restart of PostgreSQL. */
const MAX_WAIT_MS = 60_000
const RETRY_INTERVAL_MS = 500

/**
 * Runs `start`, and retries it for up to a minute if PostgreSQL is unavailable for any of its queries. `start` must clean up before
 * it rejects.
 */
export async function retryWhileDatabaseIsDown<T>(
  { databaseUrl }: { databaseUrl: string | undefined },
  log: Log['log'],
  start: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS
  for (let attempts = 1; ; attempts++) {
    try {
      return await start()
    } catch (error) {
      let cause = error
      while (cause instanceof SuppressedError) cause = cause.suppressed
      const isDown = cause instanceof DatabaseUnreachable || isPostgresUnavailable(cause)
      if (databaseUrl === undefined || !isDown) throw error
      const explained = explainDatabaseError(cause, databaseUrl) as Error
      if (performance.now() > deadline) throw explained
      const wait = `waiting up to ${MAX_WAIT_MS / 1000} seconds for it`
      if (attempts === 1) log.warn(`${explained.message}; ${wait}`)
      await sleep(RETRY_INTERVAL_MS)
    }
  }
}
