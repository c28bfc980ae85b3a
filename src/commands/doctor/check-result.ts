import { describeDiskFailure } from '../../lib/disk-errors.ts'

/** What one look at the surroundings found, and what to do about it. */
export interface CheckResult {
  check: string
  state: 'passed' | 'warning' | 'error'
  found: string
  /** Always there unless the check passed. */
  advice?: string
}

export const passed = (check: string, found: string): CheckResult => ({
  check,
  state: 'passed',
  found,
})

/** It works, or may work for some, but somebody should know. */
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

/** An error in a line. A failed connection to a name with several addresses keeps its reasons one level down. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && !error.message) {
    return [...new Set(error.errors.map(errorText))].join('; ')
  }
  const ofDisk = describeDiskFailure(error)
  if (ofDisk !== undefined) return ofDisk
  const said = error instanceof Error ? error.message || error.name : String(error)
  return said.split('\n', 1)[0]!
}

const MAX_NAMED = 3

/** The first few, in order, and how many more there are. */
export function firstFew(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED
  const shown = names.toSorted().slice(0, MAX_NAMED).join(', ')
  return rest > 0 ? `${shown} and ${rest} more` : shown
}
