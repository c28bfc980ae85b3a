import { describeDiskFailure } from '@godwit/lib/disk-errors'
import { summarizeNames } from '@godwit/lib/names'

export interface CheckResult {
  check: string
  state: 'passed' | 'warning' | 'error'
  found: string
  /** What to do about it. Absent if the check passed. */
  advice?: string
}

export const passed = (check: string, found: string): CheckResult => ({
  check,
  state: 'passed',
  found,
})

const problem =
  (state: 'warning' | 'error') =>
  (check: string, found: string, advice: string): CheckResult => ({ check, state, found, advice })

export const warning = problem('warning')
export const failure = problem('error')

/** Formats an error as one line. A failed connection to several addresses is an AggregateError without a message. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && !error.message)
    return [...new Set(error.errors.map(errorText))].join('; ')
  const diskFailure = describeDiskFailure(error)
  if (diskFailure !== undefined) return diskFailure
  const message = error instanceof Error ? error.message || error.name : String(error)
  return message.split('\n', 1)[0]!
}

/** Lists the first names in alphabetical order, and counts the others. */
export const firstFew = (names: readonly string[]): string => summarizeNames(names.toSorted(), 3)
