import { appendFileSync } from 'node:fs'
import type { TestContext } from 'node:test'

/** Where `npm run test:fire` gathers what was tried; its being there is what makes the forms long. */
const tally = process.env.GODWIT_TEST_FIRE

/** Every test of test/fire has two forms: a short one for `npm run test:long`, a long one for `npm run test:fire`. */
export const inForm = <T>(forms: { short: T; long: T }): T =>
  tally === undefined ? forms.short : forms.long

/** What was random can be had again: `GODWIT_TEST_SEED=N`. */
export const seed = Number(process.env.GODWIT_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

export interface Tried {
  fault: string
  times: number
  outcome: string
}

/**
 * A row of the table in docs/SECURITY.md, to be told at the end of a test that went well. Rows of one fault and outcome
 * are added up.
 */
export function tried(t: TestContext, fault: string, times: number, outcome: string): void {
  t.diagnostic(`${fault}: ${times} times; ${outcome}`)
  const row: Tried = { fault, times, outcome }
  if (tally !== undefined) appendFileSync(tally, `${JSON.stringify(row)}\n`)
}
