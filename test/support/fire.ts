import { appendFileSync } from 'node:fs'
import type { TestContext } from 'node:test'

/** The file in which `npm run test:fire` collects the results. If it is set, the tests run in their long form. */
const reportFile = process.env.GODWIT_TEST_FIRE

/** Chooses between the short form of a test (`npm run test:long`) and the long form (`npm run test:fire`). */
export const shortOrLong = <T>(forms: { short: T; long: T }): T =>
  reportFile === undefined ? forms.short : forms.long

/** The seed of all random choices. `GODWIT_TEST_SEED=N` repeats a run. */
export const seed = Number(process.env.GODWIT_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

export interface FaultReport {
  fault: string
  times: number
  outcome: string
}

/**
 * Reports a row of the table in docs/SECURITY.md, at the end of a successful test. Rows with the same fault and
 * outcome are added up.
 */
export function reportFault(t: TestContext, fault: string, times: number, outcome: string): void {
  t.diagnostic(`${fault}: ${times} times; ${outcome}`)
  const row: FaultReport = { fault, times, outcome }
  if (reportFile !== undefined) appendFileSync(reportFile, `${JSON.stringify(row)}\n`)
}
