import { hidePaths } from '@godwit/lib/disk-errors'
import { codeOf } from '@godwit/lib/errno'
import { GitFailed } from '../git-process.ts'
import { Unreadable } from '../unreadable.ts'

class UnreadableRepository extends Unreadable {
  constructor(repository: string | undefined, reason: string, cause?: unknown) {
    super(repository === undefined ? reason : `${repository}: ${reason}`, { cause })
  }
}

/** The repository is of a kind that cannot be exported completely, such as a shallow clone. Retrying does not help. */
export class Unsupported extends UnreadableRepository {
  override name = 'Unsupported'
}

/** Objects or refs are missing, or their content does not match their names. */
export class Damaged extends UnreadableRepository {
  override name = 'Damaged'
}

/** A repack or a push moved files while they were read: the caller reads again. Never leaves this package. */
export class ChangedDuringRead extends Error {
  override name = 'ChangedDuringRead'
}

/** Godwit's own reader does not support these files: the caller runs git instead. `examine` and snapshots never throw it. */
export class NeedsGit extends Error {
  override name = 'NeedsGit'
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a file where a directory should be',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'a symbolic link where a file should be',
  EISDIR: 'a directory where a file should be',
  EFBIG: 'too large',
  EIO: 'disk read error (input/output error)',
}

/** Describes a file system error for a user; returns undefined for errors that do not concern one repository. */
export function fileErrorReason(error: unknown): string | undefined {
  return FILE_ERRORS[codeOf(error) ?? '']
}

/** Errors begin with the name of the repository, if it is given. */
interface NamedRepository {
  name?: string | undefined
  dir: string
}

/**
 * Translates a failure to read a repository: to Damaged with git's message if git rejected the named repository, otherwise to Unreadable.
 * Returns any other error, such as an abort, unchanged.
 */
export function toUnreadable(error: unknown, { name, dir }: NamedRepository): unknown {
  const isFromGit = error instanceof GitFailed
  const reason = isFromGit ? gitErrorReason(error, dir) : fileErrorReason(error)
  if (reason === undefined) return error
  const isDamaged = name !== undefined && isFromGit && error.exitCode !== null
  return new (isDamaged ? Damaged : UnreadableRepository)(name, reason, error)
}

/** Runs `work` and translates its failure by `toUnreadable`, unless `signal` has aborted it. */
export async function orUnreadable<T>(
  repository: NamedRepository,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    throw toUnreadable(error, repository)
  }
}

/** Errors of the machine, which say nothing about the repository. */
const MACHINE_ERROR =
  /out of memory|cannot allocate|no space left|too many open files|resource temporarily unavailable/i

/**
 * Returns undefined for a failure that says nothing about the repository: git did not start, or something other than our limits killed
 * it.
 */
function gitErrorReason(failure: GitFailed, dir: string): string | undefined {
  const { exitCode, stderr, exceededLimit, cause } = failure
  if (exceededLimit) return `git was stopped: it ${exceededLimit}`
  if (cause !== undefined || exitCode === null || MACHINE_ERROR.test(stderr)) return undefined
  return withoutPaths(stderr, dir) || 'git printed no reason'
}

const MAX_REASON_LENGTH = 500

/** Returns git's message on one line, without paths of this machine. */
function withoutPaths(message: string, dir: string): string {
  const lines = hidePaths(message.replaceAll(`${dir}/`, '').replaceAll(dir, 'the repository'))
    .split('\n')
    .map((line) => line.replace(/^(?:fatal|error|warning): /, '').trim())
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('hint:')))]
    .join('; ')
    .slice(0, MAX_REASON_LENGTH)
}
