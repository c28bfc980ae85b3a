import { describeDiskFailure } from '@godwit/lib/disk-errors'
import { ConfigError, EXIT, UserError } from '@godwit/lib/user-error'
import { CommanderError } from 'commander'
import { isClosedOutput, outputFailure, printMessage, watchOutput } from './print.ts'

/** Runs a command, prints a message if it or its output fails, and sets the exit code. */
export async function runCommand(command: () => Promise<void>): Promise<void> {
  watchOutput()
  let isReported = false
  try {
    await command()
  } catch (error) {
    process.exitCode = await reportFailure(error)
    isReported = process.exitCode !== EXIT.done
  }
  const failure = await outputFailure()
  if (failure && !isReported) process.exitCode = await reportFailure(failure)
}

/** Prints the failure and returns the exit code. Commander prints its own errors. */
async function reportFailure(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misused
  const { lines, exitCode } = await describeFailure(error)
  for (const line of lines) printMessage(`godwit: ${line}`)
  return exitCode
}

type Failure = { lines: readonly string[]; exitCode: number }

async function describeFailure(error: unknown): Promise<Failure> {
  if (error instanceof ConfigError) return { lines: error.mistakes, exitCode: EXIT.misused }
  if (error instanceof UserError) return { lines: [error.message], exitCode: error.exitCode }
  // The first error matters more than the error of the cleanup after it.
  if (error instanceof SuppressedError) return describeFailure(error.suppressed)
  if (!(error instanceof Error)) return failed(String(error))
  // Otherwise it would be mistaken for an error of a connection.
  if (isClosedOutput(error))
    return failed('standard output was closed before everything was written')
  const { describeKnownError } = await import('./known-errors.ts')
  const known = describeKnownError(error)
  if (known) return { lines: [known.message], exitCode: known.exitCode }
  const diskFailure = describeDiskFailure(error)
  if (diskFailure !== undefined) return failed(diskFailure)
  if ('syscall' in error && 'code' in error)
    return failed(describeSystemError(error as NodeJS.ErrnoException))
  return failed(error.stack ?? error.message)
}

const failed = (line: string): Failure => ({ lines: [line], exitCode: EXIT.failed })

function describeSystemError({ message, code, path }: NodeJS.ErrnoException): string {
  const reason = code === undefined ? undefined : REASONS[code]
  return reason && path ? `${path}: ${reason}` : message
}

const REASONS: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied for this user',
  EPERM: 'operation not permitted for this user',
  EEXIST: 'exists and is not a directory',
  ENOTDIR: 'a part of this path is not a directory',
}
