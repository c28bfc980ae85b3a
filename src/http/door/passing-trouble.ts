import { GitFailed } from '../../git/git-end.ts'
import { codeOf } from '../../ground/errno.ts'

/** What the system says of itself, not of the request: no room, no handles, a disk that does not take or give. */
const SYSTEM = new Set([
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'],
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'],
])

/** SQLite: busy, locked, out of memory, read-only, input/output, full, cannot open. */
const SQLITE = new Set([5, 6, 7, 8, 10, 13, 14])

/** PostgreSQL: the connection is lost, resources ran out, it is being shut down or started. */
const POSTGRES = /^(08|53|57P)/

/** The machine's trouble, which may be over soon: whoever asks again later may be lucky. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { errcode } = error as { errcode?: unknown }
  if (typeof errcode === 'number') return SQLITE.has(errcode & 0xff)
  const code = codeOf(error) ?? ''
  // A git that came to a verdict has become a refusal long before.
  if (SYSTEM.has(code) || POSTGRES.test(code) || error instanceof GitFailed) return true
  // The pool has no code for it.
  return /^timeout exceeded when trying to connect$/.test(error.message) || isPassing(error.cause)
}
