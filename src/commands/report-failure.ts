import { CommanderError } from 'commander'
import { ConfigMistakes } from '../config.ts'
import { note, UserMistake } from './command-line.ts'
import { EXIT } from './exit-codes.ts'

/** Says what went wrong, in as few words as the person needs, and how that counts. */
export function reportFailure(error: unknown): number {
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
  ArchiveRefused: EXIT.failed,
  DataDirectoryInUse: EXIT.failed,
  DatabaseDamaged: EXIT.failed,
  ManifestInvalid: EXIT.failed,
  SchemaTooNew: EXIT.failed,
  Unreadable: EXIT.failed,
  ServerRefused: EXIT.refused,
  ServerFailed: EXIT.unreachable,
  ServerUnreachable: EXIT.unreachable,
}

function failureOf(error: unknown): Failure {
  if (error instanceof ConfigMistakes) return { lines: error.mistakes, exitCode: EXIT.misused }
  if (error instanceof UserMistake) return { lines: [error.message], exitCode: error.exitCode }
  if (!(error instanceof Error)) return failed(String(error))
  if (Object.hasOwn(PLAIN, error.name))
    return { lines: [error.message], exitCode: PLAIN[error.name]! }
  if (isGitMissing(error)) return failed('git is not there to be run; --git says where it is')
  // What the file system refuses names the file and the reason by itself.
  if ('syscall' in error && 'code' in error) return failed(error.message)
  return failed(error.stack ?? error.message)
}

const failed = (line: string): Failure => ({ lines: [line], exitCode: EXIT.failed })

function isGitMissing({ name, cause }: Error): boolean {
  const { code } = (cause ?? {}) as { code?: unknown }
  return name === 'GitFailed' && (code === 'ENOENT' || code === 'EACCES')
}
