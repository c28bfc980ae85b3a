import { describeDiskFailure } from '../../lib/disk-errors.ts'

/** The result of one check, and what to do about it. */
export interface CheckResult {
  check: string
  state: 'passed' | 'warning' | 'error'
  found: string
  /** Present unless the check passed. */
  advice?: string
}

export const passed = (check: string, found: string): CheckResult => ({
  check,
  state: 'passed',
  found,
})

export const warning = (check: string, found: string, advice: string): CheckResult => ({
  check,
  state: 'warning',
  found,
  advice,
})

export const failure = (check: string, found: string, advice: string): CheckResult => ({
  check,
  state: 'error',
  found,
  advice,
})

/** Formats an error as one line. A failed connection to several addresses is an AggregateError without a message. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && !error.message) {
    return [...new Set(error.errors.map(errorText))].join('; ')
  }
  const diskFailure = describeDiskFailure(error)
  if (diskFailure !== undefined) return diskFailure
  const message = error instanceof Error ? error.message || error.name : String(error)
  return message.split('\n', 1)[0]!
}

const MAX_NAMED = 3

/** Lists the first names in order, and counts the others. */
export function firstFew(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED
  const shown = names.toSorted().slice(0, MAX_NAMED).join(', ')
  return rest > 0 ? `${shown} and ${rest} more` : shown
}
