import { BlobsUnavailable } from '../../blobs/blob-store.ts'
import { isPostgresUnavailable } from '../../db/postgres-unavailable.ts'
import { GitFailed } from '../../git/git-end.ts'
import { codeOf } from '../../lib/errno.ts'

/** What the system says of itself, not of the request: no room, no handles, a disk that does not take or give. */
const SYSTEM = new Set([
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND'],
  ...['EAI_AGAIN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
])

/** SQLite: busy, locked, out of memory, read-only, input/output, full, cannot open. */
const SQLITE = new Set([5, 6, 7, 8, 10, 13, 14])

/** SQLite: full. PostgreSQL: disk_full. */
const FULL = { sqlite: 13, codes: new Set(['ENOSPC', 'EDQUOT', '53100']) }

/** Whether a disk, of this host or of the database, has no room left. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { errcode } = error as { errcode?: unknown }
  const isFull = typeof errcode === 'number' && (errcode & 0xff) === FULL.sqlite
  return isFull || FULL.codes.has(codeOf(error) ?? '') || isDiskFull(error.cause)
}

/** A failure of the host that may be over soon: a later request may succeed. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // One lasting error among several makes all of it lasting.
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every(isTemporary)
  // What was cleaned up badly matters less than what it was cleaned up for.
  if (error instanceof SuppressedError) return isTemporary(error.suppressed)
  const { errcode } = error as { errcode?: unknown }
  if (typeof errcode === 'number') return SQLITE.has(errcode & 0xff)
  // Includes every failure to connect, also where a socket's file is missing.
  if (SYSTEM.has(codeOf(error) ?? '') || isPostgresUnavailable(error)) return true
  // A git that came to a verdict has become a refusal long before.
  return error instanceof GitFailed || error instanceof BlobsUnavailable || isTemporary(error.cause)
}
