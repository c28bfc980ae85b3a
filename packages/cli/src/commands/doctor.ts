import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { EXIT } from '@godwit/lib/user-error'
import { switchUserToOwnerOf } from '@godwit/server/service/data-owner'
import type { Command } from 'commander'
import { addCommand, readCommandConfig } from './command-line.ts'
import { type CheckResult, passed } from './doctor/check-result.ts'
import { type JsonOption, printPainted, printResult } from './print.ts'
import { SERVE } from './service-settings.ts'
import { stoppable } from './stop-signal.ts'
import { paint } from './terminal.ts'

export function doctorCommand(program: Command, about: string): void {
  addCommand(
    program,
    'doctor',
    about,
    ['godwit doctor --repositories /srv/git --data /var/lib/godwit', 'godwit doctor --json'],
    SERVE,
  ).action(stoppable(runDoctor))
}

async function runDoctor(signal: AbortSignal, { json }: JsonOption, command: Command) {
  // Imported here, so that the help does not load every part of the service.
  const { everyCheck } = await import('./doctor/every-check.ts')
  const config = readCommandConfig(command, SERVE)
  // The checks run as the service's user, because its permissions matter.
  const user = switchUserToOwnerOf(config.data)
  const results: CheckResult[] = []
  const add = (result: CheckResult) => {
    results.push(result)
    if (!json) printPainted(formatResult(result))
  }
  if (user) add(passed('user', `${user}, the owner of ${config.data}`))
  for await (const result of everyCheck(config, signal)) add(result)
  const count = (state: CheckResult['state']) =>
    results.filter((result) => result.state === state).length
  const counts = { passed: count('passed'), warnings: count('warning'), errors: count('error') }
  const summary = `\n${counts.passed} passed, ${formatCount(counts.warnings, 'warning')}, ${formatCount(counts.errors, 'error')}`
  printResult({ json }, { ...counts, checks: results }, summary)
  if (counts.errors > 0) process.exitCode = EXIT.failed
}

const MARKS = { passed: ['green', '✓'], warning: ['yellow', '!'], error: ['red', '✗'] } as const
const WIDTH = 'clock of database'.length

function formatResult({ check, state, found, advice }: CheckResult): string {
  const [colour, mark] = MARKS[state]
  const line = `${paint(colour, mark)} ${check.padEnd(WIDTH)}  ${escapeForTerminal(found)}`
  return advice === undefined
    ? line
    : `${line}\n  ${' '.repeat(WIDTH)}  → ${escapeForTerminal(advice)}`
}
