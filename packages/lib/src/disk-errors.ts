import { statfsSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { codeOf } from './errno.ts'
import { formatBytes } from './quantities.ts'

/** Each kind of failure, in words for operators and for users. */
const REASONS = {
  full: ['no space left on the disk', "the server's disk is full"],
  overQuota: ['the disk quota of this user is used up', "the server's disk quota is used up"],
  readOnly: ['read-only file system', "the server's disk is read-only"],
  tooLarge: [
    'the file would exceed the size limit of this process (ulimit -f) or of the file system',
    "a file exceeds the server's limit",
  ],
  broken: ['input/output error of the disk', "the server's disk has an input/output error"],
  unopened: ['the database cannot be opened', "the server's database cannot be opened"],
  bucketFull: ['no space left in the bucket', "the server's storage is full"],
} as const

type DiskFailure = keyof typeof REASONS

const BY_CODE: Readonly<Record<string, DiskFailure>> = {
  ENOSPC: 'full',
  EDQUOT: 'overQuota',
  EROFS: 'readOnly',
  EFBIG: 'tooLarge',
  EIO: 'broken',
  // disk_full of PostgreSQL.
  '53100': 'full',
}
/** By the primary result code of SQLite. */
const BY_SQLITE: Readonly<Record<number, DiskFailure>> = {
  8: 'readOnly',
  10: 'broken',
  13: 'full',
  14: 'unopened',
}
/** By the message of git. */
const BY_TEXT: readonly [RegExp, DiskFailure][] = [
  [/no space left on device/i, 'full'],
  [/disk quota exceeded/i, 'overQuota'],
  [/read-only file system/i, 'readOnly'],
]
/** Error names of Ceph, MinIO and others. */
const BUCKET_FULL =
  /^(?:QuotaExceeded|EntityTooLargeForQuota|XMinio\w*(?:QuotaExceeded|StorageFull))$/

interface DiskError extends Error {
  path?: string
  dest?: string
  neededBytes?: number | undefined
  freeBytes?: number | undefined
}

/** Finds the disk error that this error is, or was caused by. */
function findDiskError(error: unknown): { error: DiskError; failure: DiskFailure } | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof SuppressedError) return findDiskError(error.suppressed)
  const failure = failureOf(error)
  return failure ? { error, failure } : findDiskError(error.cause)
}

/** The minimum that SQLite needs for its shared memory and a few pages of its log. */
const MIN_SQLITE_BYTES = 64 * 1024

function failureOf(error: Error): DiskFailure | undefined {
  const { errcode, freeBytes = MIN_SQLITE_BYTES } = error as { errcode?: unknown } & DiskError
  if (typeof errcode === 'number') {
    const failure = BY_SQLITE[errcode & 0xff]
    // SQLite maps its shared memory: there a full disk causes an input/output error.
    return failure === 'broken' && freeBytes < MIN_SQLITE_BYTES ? 'full' : failure
  }
  if (BUCKET_FULL.test(error.name)) return 'bucketFull'
  if (error.name === 'GitFailed')
    return BY_TEXT.find(([pattern]) => pattern.test(error.message))?.[1]
  return BY_CODE[codeOf(error) ?? '']
}

/** Returns whether a disk of this machine or of the database server is full, or the quota on it. */
export const isDiskFull = (error: unknown): boolean =>
  ['full', 'overQuota'].includes(findDiskError(error)?.failure ?? '')

/** Describes a disk error in one line for the operator, or returns undefined for any other error. */
export function describeDiskFailure(error: unknown): string | undefined {
  const found = findDiskError(error)
  if (!found) return undefined
  const { dest, path = dest, neededBytes, freeBytes, name, message } = found.error
  const [why] = REASONS[found.failure]
  if (found.failure === 'bucketFull') return `${why}: ${message}`
  if (name === 'GitFailed') return message.replaceAll(/\s*\n\s*/g, '; ')
  const isFull = isDiskFull(error)
  const sizes = [
    ...(isFull && neededBytes !== undefined ? [`${formatBytes(neededBytes)} needed`] : []),
    ...(isFull && freeBytes !== undefined ? [`${formatBytes(freeBytes)} free`] : []),
  ]
  const isWriteError = !['broken', 'unopened'].includes(found.failure)
  const what = path && isWriteError ? `cannot write ${path}` : path
  return `${what ? `${what}: ` : ''}${why}${sizes.length > 0 ? ` (${sizes.join(', ')})` : ''}`
}

/** Replaces the absolute paths in a message of git. */
export const hidePaths = (message: string): string =>
  message.replaceAll(/(^|[\s'"(=:])\/[^\s'"():;,]+/gm, '$1…')

/** Describes an error for users: without paths, addresses and other names of the server. The log has the complete message. */
export function publicReason(error: unknown): string {
  const found = findDiskError(error)
  if (found) return REASONS[found.failure][1]
  if (!(error instanceof Error)) return String(error)
  if (error instanceof SuppressedError) return publicReason(error.suppressed)
  const { name, message, cause } = error
  if (name === 'GitFailed') return hidePaths(message)
  const systemReason = publicSystemReason(error)
  if (systemReason !== undefined) return systemReason
  const causes: unknown[] = error instanceof AggregateError ? error.errors : [cause]
  // The message may quote those of its causes.
  return causes
    .filter((each) => each instanceof Error && each.message !== '')
    .reduce<string>(
      (text, each) => text.replaceAll((each as Error).message, () => publicReason(each)),
      message,
    )
}

/** Returns undefined for an error that the system, the bucket or the database did not cause. */
function publicSystemReason(error: Error): string | undefined {
  if (error.name === 'BlobsUnavailable') return "the server's storage is unavailable"
  // Set by the SDK of S3. An error of another thread has it too, unlike `$metadata`.
  if ('$fault' in error) return "the server's storage refused the request"
  // `severity` is set by PostgreSQL, `errcode` by SQLite.
  if ('severity' in error || 'errcode' in error) return "the server's database had an error"
  // A failed connection to several addresses is an AggregateError without a message.
  if (!('syscall' in error) && error.message !== '') return undefined
  const code = codeOf(error)
  return code === 'ENOENT'
    ? 'a file is missing on the server'
    : `the server had a system error (${code ?? error.name})`
}

/** Runs a function that writes to `path` or below it. A disk error gets the path, if the system left it out, and the free bytes. */
export async function withWriteContext<T>(
  path: string,
  write: () => Promise<T>,
  neededBytes?: number,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    throw addDiskDetails(error, path, neededBytes)
  }
}

export function addDiskDetails(error: unknown, path: string, neededBytes?: number): unknown {
  if (!(error instanceof Error) || !failureOf(error) || 'freeBytes' in error) return error
  const { path: known, dest } = error as DiskError
  const written = dest ?? known ?? path
  return Object.assign(error, { path: written, neededBytes, freeBytes: freeBytesAt(written) })
}

/** Returns undefined if it cannot be determined, as for standard output. */
function freeBytesAt(path: string): number | undefined {
  if (!isAbsolute(path)) return undefined
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    // The file may not exist yet.
    return path === dirname(path) ? undefined : freeBytesAt(dirname(path))
  }
}
