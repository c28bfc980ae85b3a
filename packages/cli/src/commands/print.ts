import { fchmodSync, fstatSync } from 'node:fs'
import { addDiskDetails } from '@godwit/lib/disk-errors'
import { hasCode } from '@godwit/lib/errno'
import { formatRecordCount, type Loss } from '@godwit/lib/findings'
import { formatRelativeTime } from '@godwit/lib/quantities'
import {
  escapeForTerminal,
  escapeJsonForTerminal,
  escapeJsonLinesForTerminal,
  escapeLinesForTerminal,
} from '@godwit/lib/terminal-text'
import { formatTable, type Table, tableOf, wrapDetails } from './table.ts'
import { paint, paintState } from './terminal.ts'

/** The first error of standard output. */
let outputError: Error | undefined

/**
 * Ignores a closed pipe (`| head`): the command continues, and its exit code does not change. Any other error of standard
 * output, such as a full disk, is reported at the end, after the cleanup.
 */
export function watchOutput(): void {
  outputError = undefined
  process.stdout.on('error', (error) => {
    outputError ??= addDiskDetails(error, 'standard output') as Error
  })
  // An error of standard error cannot be reported anywhere.
  process.stderr.on('error', () => {})
}

/** Waits until all output is written, and returns the error if that failed. */
export async function outputFailure(): Promise<Error | undefined> {
  if (!process.stdout.destroyed) await new Promise((resolve) => process.stdout.write('', resolve))
  return isClosedOutput(outputError) ? undefined : outputError
}

/** Returns whether a write failed because the reader of standard output closed the pipe. */
export const isClosedOutput = (error: unknown): boolean =>
  error === outputError && hasCode(error, 'EPIPE')

/** Prints text to standard output, with control characters escaped. */
export function print(text: string): void {
  printPainted(escapeLinesForTerminal(text))
}

/** Prints text to standard output. It must be escaped already, and may contain colours. */
export function printPainted(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Prints text and waits until it is written. Rejects on any error, a closed pipe included. */
export function printAndFlush(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${escapeLinesForTerminal(text)}\n`, (error) =>
      error ? reject(error) : resolve(),
    )
  })
}

/**
 * Takes the permissions of other users from the file that a shell has just created for standard output (`> token`), before a secret is
 * written to it. A file with content, and one of another user, stays as it is.
 */
export function protectNewOutputFile(fd = 1): void {
  const file = fstatSync(fd)
  const isOwnedByUser = file.uid === process.getuid?.()
  if (file.isFile() && file.size === 0 && isOwnedByUser) fchmodSync(fd, file.mode & 0o700)
}

/** Prints a message to standard error. */
export function printMessage(text: string): void {
  process.stderr.write(`${escapeLinesForTerminal(text)}\n`)
}

export type JsonOption = { json?: boolean | undefined }

/** Prints the value as JSON with --json, and otherwise the text or table. `empty` says that a list has no items. */
export function printResult(
  { json }: JsonOption,
  value: unknown,
  textOrTable: string | Table,
  empty?: string,
): void {
  if (json) printJson(value)
  else if (typeof textOrTable === 'string') printPainted(wrapDetails(textOrTable, outputWidth()))
  else printTable(textOrTable, empty)
}

/** The width of the terminal; a file or pipe gets long lines. */
const outputWidth = (): number =>
  process.stdout.isTTY ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY

/** Prints a value as JSON, without the credentials of repositories. */
export function printJson(value: unknown): void {
  const replace = (key: string, each: unknown) => {
    if (key === 'temp_clone_token') return undefined
    // Octokit parses large numbers as bigint, which JSON.stringify rejects.
    return typeof each === 'bigint' ? String(each) : each
  }
  print(escapeJsonForTerminal(value, replace))
}

export const printJsonLine = (value: unknown): void =>
  print(escapeJsonLinesForTerminal(JSON.stringify(value)))

/** Prints an aligned table, with control characters escaped. A table without rows is replaced by a message on standard error. */
export function printTable(table: Table, empty = 'nothing to list'): void {
  if (table.length <= 1) {
    printMessage(empty)
    return
  }
  const rows = table.map((row) => row.map(escapeForTerminal))
  const stateColumn = rows[0]?.indexOf('STATE')
  const lines = formatTable(rows, outputWidth(), (cell, { row, column }) => {
    if (row === 0) return paint('bold', cell)
    return column === stateColumn ? cell.replace(/^\w+/, (state) => paintState(state)) : cell
  })
  for (const line of lines) printPainted(line)
}

/** Prints a table of losses, or nothing if there are none. */
export function printLosses(title: string, losses: readonly Loss[]): void {
  if (losses.length === 0) return
  print('')
  printTable(
    tableOf(losses, {
      [title]: ({ kind, count }) => formatRecordCount(kind, count),
      EXAMPLE: ({ examples }) => examples[0],
    }),
  )
}

/** Formats a time relative to now, such as `3 hours ago`. An invalid time is returned unchanged. */
export function formatTime(time: number | string | null): string {
  if (time === null) return '-'
  const at = new Date(time)
  return Number.isNaN(at.getTime())
    ? escapeForTerminal(String(time))
    : formatRelativeTime(at, Date.now())
}

/** Formats a time for JSON. */
export const isoTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()
