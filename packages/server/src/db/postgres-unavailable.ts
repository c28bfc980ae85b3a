import { codeOf } from '@godwit/lib/errno'

// A file of its own, because every command loads it to report failures: with connect.ts it would load Kysely, too.

/** SQLSTATE classes and codes: connection lost, resources exhausted, shutdown, startup or failover. */
const UNAVAILABLE_STATE = /^(?:08|40|53|57|58|25006$|55P03$)/
const CONNECTION_LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']

/** Messages without a code, by which `pg` and its pool report a connection that is lost or cannot be obtained. */
const UNAVAILABLE_MESSAGES = [
  /^Connection terminated(?: unexpectedly| due to connection timeout)?$/,
  /^Client (?:has encountered a connection error|was closed) and is not queryable$/,
  /^(?:timeout expired|timeout exceeded when trying to connect|Query read timeout)$/,
  // A response without a query: the connection broke in the middle of one.
  /^Received unexpected \w+ message from backend\.$/,
  // A request that arrives while the process shuts down.
  /^Cannot use a pool after calling end on the pool$/,
]

/** Whether an operation failed because PostgreSQL, or the connection to it, is unavailable for now. */
export function isPostgresUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // What failed while cleaning up matters less than the error before it.
  if (error instanceof SuppressedError) return isPostgresUnavailable(error.suppressed)
  if ((error as NodeJS.ErrnoException).syscall === 'connect') return true
  const code = codeOf(error)
  if (code !== undefined) return CONNECTION_LOST.includes(code) || UNAVAILABLE_STATE.test(code)
  return UNAVAILABLE_MESSAGES.some((message) => message.test(error.message))
}
