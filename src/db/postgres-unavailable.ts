import { codeOf, hasCode } from '../lib/errno.ts'

/** SQLSTATE classes and codes: the connection is lost, resources ran out, it is shut down, started or handed over. */
const PASSING_STATE = /^(?:08|40|53|57|58|25006$|55P03$)/

/** What `pg` and its pool say without a code when a connection is lost, cannot be had in time or is no longer to be had. */
const PASSING_WORDS = [
  /^Connection terminated(?: unexpectedly| due to connection timeout)?$/,
  /^Client (?:has encountered a connection error|was closed) and is not queryable$/,
  /^(?:timeout expired|timeout exceeded when trying to connect|Query read timeout)$/,
  // Answers that belong to no question: the connection broke in the middle of one.
  /^Received unexpected \w+ message from backend\.$/,
  // A request that outlives its process's last moments.
  /^Cannot use a pool after calling end on the pool$/,
]

/** Whether a query failed because PostgreSQL, or the connection to it, is unavailable for now. */
export function isPostgresUnavailable(error: Error): boolean {
  const code = codeOf(error)
  if (code !== undefined) return PASSING_STATE.test(code)
  return PASSING_WORDS.some((words) => words.test(error.message))
}

/** Whether a command or a start failed because PostgreSQL does not answer, or because no connection could be made. */
export function isPostgresDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // What failed while cleaning up matters less than the error before it.
  if (error instanceof SuppressedError) return isPostgresDown(error.suppressed)
  const cannotConnect = (error as NodeJS.ErrnoException).syscall === 'connect'
  return cannotConnect || hasCode(error, ...CONNECTION_LOST) || isPostgresUnavailable(error)
}

const CONNECTION_LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']
