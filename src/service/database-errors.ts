import type { Database } from '../db/database.ts'
import { isPostgresUnavailable } from '../db/postgres-unavailable.ts'
import { codeOf } from '../lib/errno.ts'
import { EXIT } from '../lib/exit-codes.ts'
import { UserError } from '../lib/user-error.ts'

export class DatabaseUnreachable extends UserError {
  override readonly exitCode: number = EXIT.unreachable
}

/** What to do about a database in another encoding: it cannot be changed, only made anew. */
export const UTF8_REMEDY =
  'create one with `createdb --encoding=UTF8 --template=template0 NAME`, and copy the data with pg_dump if there is any'

/** Names and descriptions are text in every language: in another encoding they could not be stored. */
export async function requireUtf8({ pool }: Database, databaseUrl: string): Promise<void> {
  const encoding = (await pool?.query('show server_encoding'))?.rows[0].server_encoding
  if (encoding === 'UTF8') return
  const where = directoryOf(databaseUrl)
  throw new UserError(`${where} has encoding ${encoding}, not UTF8: ${UTF8_REMEDY}`)
}

// Never the whole address: there may be a password in it.
function directoryOf(databaseUrl: string): string {
  return `the database at ${new URL(databaseUrl).host || 'this machine'} (--database-url)`
}

/** What PostgreSQL, or the way to it, refused, and what to do about it; whatever else it was as it is. */
export function explainedDatabase(error: unknown, databaseUrl: string): unknown {
  const code = codeOf(error)
  const { message } = error as Error
  const where = directoryOf(databaseUrl)
  const options = { cause: error }
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return new DatabaseUnreachable(
        `${where} does not answer: check that PostgreSQL is running`,
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
  const isLate = /timeout|ETIMEDOUT|EHOSTUNREACH/.test(`${code} ${message}`)
  if (isLate) return new DatabaseUnreachable(`${where} does not answer: ${message}`, options)
  return isPostgresUnavailable(error)
    ? new DatabaseUnreachable(`${where} is not available: ${message}`, options)
    : error
}
