import { EXIT } from '../exit-codes.ts'
import { UserMistake } from '../user-mistake.ts'

class DatabaseUnreachable extends UserMistake {
  override readonly exitCode: number = EXIT.unreachable
}

/** What PostgreSQL, or the way to it, refused, and what to do about it; whatever else it was as it is. */
export function explainedDatabase(error: unknown, databaseUrl: string): unknown {
  const { code, message } = error as { code?: string; message?: string }
  // Never the whole address: there may be a password in it.
  const { host, pathname } = new URL(databaseUrl)
  const where = `the database at ${host || 'this machine'} (--database-url)`
  const options = { cause: error }
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return new DatabaseUnreachable(
        `${where} does not answer: is PostgreSQL running there?`,
        options,
      )
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new DatabaseUnreachable(`${where}: there is no such host`, options)
    case '28P01':
    case '28000':
      return new UserMistake(`${where} does not let this user in: ${message}`, options)
    case '3D000':
      return new UserMistake(
        `${where} has no database ${pathname.slice(1)}: createdb makes it`,
        options,
      )
    case '42501':
      return new UserMistake(`${where} does not let this user make tables: ${message}`, options)
  }
  const isLate = /timeout|ETIMEDOUT|EHOSTUNREACH/.test(`${code} ${message}`)
  return isLate ? new DatabaseUnreachable(`${where} does not answer: ${message}`, options) : error
}
