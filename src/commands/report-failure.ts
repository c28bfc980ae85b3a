import { CommanderError } from 'commander'
import { isPostgresUnavailable } from '../db/postgres-unavailable.ts'
import { describeDiskFailure } from '../lib/disk-errors.ts'
import { hasCode, rootCause } from '../lib/errno.ts'
import { EXIT } from '../lib/exit-codes.ts'
import { ConfigError, UserError } from '../lib/user-error.ts'
import { note, outputFailure, watchOutput } from './command-line.ts'

/** Runs a command. What went wrong is told in one line, be it the output alone, and counts as the process's end. */
export async function runCommand(command: () => Promise<void>): Promise<void> {
  watchOutput()
  let isTold = false
  try {
    await command()
  } catch (error) {
    process.exitCode = reportFailure(error)
    isTold = process.exitCode !== EXIT.done
  }
  const failure = await outputFailure()
  if (failure && !isTold) process.exitCode = reportFailure(failure)
}

/** Says what went wrong, in as few words as the person needs, and how that counts. */
function reportFailure(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misused
  const { lines, exitCode } = failureOf(error)
  for (const line of lines) note(`godwit: ${line}`)
  return exitCode
}

interface Failure {
  lines: readonly string[]
  exitCode: number
}

/**
 * Whose message is for people, without a stack: known by name, for whoever could import the rooms that they come from
 * would load them all.
 */
const PLAIN: Record<string, number> = {
  ArchiveDamaged: EXIT.failed,
  ArchiveNotSupported: EXIT.failed,
  ArchiveRefused: EXIT.failed,
  StoreOwnedByAnotherDatabase: EXIT.failed,
  DataDirectoryInUse: EXIT.failed,
  DatabaseCorrupt: EXIT.failed,
  ForgeUnreachable: EXIT.unreachable,
  ManifestInvalid: EXIT.failed,
  SchemaTooNew: EXIT.failed,
  Unreadable: EXIT.failed,
  SecretNeeded: EXIT.misused,
  ServerBusy: EXIT.unreachable,
  RequestRejected: EXIT.refused,
  ServerError: EXIT.unreachable,
  ServerUnreachable: EXIT.unreachable,
}

function failureOf(error: unknown): Failure {
  if (error instanceof ConfigError) return { lines: error.mistakes, exitCode: EXIT.misused }
  if (error instanceof UserError) return { lines: [error.message], exitCode: error.exitCode }
  // What was cleaned up badly matters less than what it was cleaned up for.
  if (error instanceof SuppressedError) return failureOf(error.suppressed)
  if (!(error instanceof Error)) return failed(String(error))
  if (Object.hasOwn(PLAIN, error.name))
    return { lines: [error.message], exitCode: PLAIN[error.name]! }
  if (isOfBucket(error))
    return {
      lines: [`the bucket (--blobs): ${error.message}; run \`godwit doctor\``],
      exitCode: EXIT.unreachable,
    }
  if (isPostgresUnavailable(error))
    return {
      lines: [`the database (--database-url) is not available: ${rootCause(error).message}`],
      exitCode: EXIT.unreachable,
    }
  if (isGitMissing(error))
    return failed('git cannot be run: install git 2.30 or newer, or set --git')
  const ofDisk = describeDiskFailure(error)
  if (ofDisk !== undefined) return failed(ofDisk)
  if ('syscall' in error && 'code' in error) return failed(ofSystem(error as NodeJS.ErrnoException))
  return failed(error.stack ?? error.message)
}

const failed = (line: string): Failure => ({ lines: [line], exitCode: EXIT.failed })

/** What the system refuses names the reason by itself, and the file where there is one. */
function ofSystem({ message, code, path }: NodeJS.ErrnoException): string {
  const why = code === undefined ? undefined : WHY[code]
  return why && path ? `${path}: ${why}` : message
}

const WHY: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied for this user',
  EPERM: 'operation not permitted for this user',
  EEXIST: 'exists and is not a directory',
  ENOTDIR: 'a part of this path is not a directory',
}

/** Ours for one that does not answer, or the SDK's own for what it refuses. */
const isOfBucket = (error: Error): boolean =>
  error.name === 'BlobsUnavailable' ||
  error.name === 'CredentialsProviderError' ||
  '$metadata' in error

function isGitMissing({ name, cause }: Error): boolean {
  return name === 'GitFailed' && hasCode(cause, 'ENOENT', 'EACCES')
}
