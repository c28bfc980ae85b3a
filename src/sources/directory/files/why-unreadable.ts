import { GitFailed } from '../../../git/git-end.ts'
import { codeOf } from '../../../lib/errno.ts'
import { Unreadable } from '../../unreadable.ts'

const IN_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'it no longer exists',
  ENOTDIR: 'it no longer exists',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'a symbolic link where a file should be',
  EISDIR: 'a directory where a file should be',
  EIO: 'disk read error (input/output error)',
}

/** The machine's troubles say nothing about a repository. */
const ABOUT_THE_MACHINE =
  /out of memory|cannot allocate|no space left|too many open files|resource temporarily unavailable/i

const LONGEST_REASON = 500

/** What the file system refused, fit for a user to see; undefined when it is no trouble of one repository. */
export function reasonOf(error: unknown): string | undefined {
  return IN_WORDS[codeOf(error) ?? '']
}

/** A failure to read a repository as Unreadable; whatever else went wrong, being stopped included, stays as it is. */
export function asUnreadable(error: unknown, dir: string): unknown {
  const reason = error instanceof GitFailed ? gitsReason(error, dir) : reasonOf(error)
  return reason === undefined ? error : new Unreadable(reason, { cause: error })
}

/** What the work answers; what it fails at is told as Unreadable, unless it was stopped. */
export async function orUnreadable<T>(
  dir: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    throw asUnreadable(error, dir)
  }
}

/** Undefined where git was never run, or was killed by another: then it came to no verdict. */
function gitsReason(failed: GitFailed, dir: string): string | undefined {
  const { exitCode, said, tookTooLong, cause } = failed
  if (tookTooLong) return `git was stopped: it ${tookTooLong}`
  if (cause !== undefined || exitCode === null || ABOUT_THE_MACHINE.test(said)) return undefined
  return withoutPaths(said, dir) || 'git printed no reason'
}

/** Git's own words on one line, without where on this machine anything is. */
function withoutPaths(said: string, dir: string): string {
  const lines = said
    .replaceAll(`${dir}/`, '')
    .replaceAll(dir, 'the repository')
    .replace(/(^|[\s'"(=:])\/[^\s'"():;,]+/gm, '$1…')
    .split('\n')
    .map((line) => line.replace(/^(?:fatal|error|warning): /, '').trim())
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('hint:')))]
    .join('; ')
    .slice(0, LONGEST_REASON)
}
