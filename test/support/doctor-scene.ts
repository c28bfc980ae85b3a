import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { CheckResult } from '../../packages/cli/src/commands/doctor/check-result.ts'
import { everyCheck } from '../../packages/cli/src/commands/doctor/every-check.ts'
import { readConfig } from '../../packages/cli/src/settings/config.ts'
import type { OptionName } from '../../packages/cli/src/settings/setting-names.ts'
import { freePort } from './free-port.ts'
import { temporaryDirectory } from './sample-repositories.ts'
import { createCommandRunner } from './shared-commands.ts'

export const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
export const run = promisify(execFile)

export type Flags = Partial<Record<OptionName, string>>

/** Runs all checks with these settings and the defaults. */
export async function doctor(flags: Flags, env: NodeJS.ProcessEnv = {}): Promise<CheckResult[]> {
  const config = readConfig(flags, { PATH: process.env.PATH, ...env })
  return Array.fromAsync(everyCheck(config, new AbortController().signal))
}

/** Runs the command `godwit doctor`. */
export function doctorCommand(flags: string[], env: Readonly<Record<string, string>> = {}) {
  return createCommandRunner()(['doctor', ...flags], env)
}

/** Returns the result of a check that has not passed, or else its first one. */
export function findResult(findings: CheckResult[], check: string): CheckResult {
  const all = findings.filter((finding) => finding.check === check)
  const finding = all.find(({ state }) => state !== 'passed') ?? all[0]
  assert.ok(finding, `no result of ${check}`)
  assert.equal(
    finding.advice === undefined,
    finding.state === 'passed',
    'only results that did not pass have advice',
  )
  return finding
}

export function assertFinding(
  findings: CheckResult[],
  check: string,
  state: string,
  found: RegExp,
): void {
  const finding = findResult(findings, check)
  assert.match(finding.found, found)
  assert.equal(finding.state, state)
}

export const errorsAmong = (findings: CheckResult[]) =>
  findings.filter(({ state }) => state === 'error')

/** Settings with which all checks pass. */
export async function validSettings(t: TestContext): Promise<{ data: string; listen: string }> {
  const data = join(temporaryDirectory(t), 'data')
  return { data, listen: `127.0.0.1:${await freePort()}` }
}
