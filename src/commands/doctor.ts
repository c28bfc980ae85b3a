import type { Command } from 'commander'
import { EXIT } from '../lib/exit-codes.ts'
import { escapeForTerminal, escapeJsonForTerminal } from '../lib/terminal-text.ts'
import { actAsOwnerOf } from '../service/data-owner.ts'
import { addCommand, print, printPainted, settingsOf, withExamples } from './command-line.ts'
import { type CheckResult, passed } from './doctor/check-result.ts'
import { paint } from './paint.ts'

export function doctorCommand(program: Command, about: string): void {
  const command = addCommand(program, 'doctor', about)
  withExamples(
    command,
    'godwit doctor --repositories /srv/git --data /var/lib/godwit',
    'godwit doctor --json',
  )
  command
    .option('--json', 'print the findings as JSON')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      // Loaded only here: no other command needs what it takes to try everything.
      const { everyCheck } = await import('./doctor/every-check.ts')
      const config = settingsOf(command)
      // What matters is what the service may do, whose data it is.
      const user = actAsOwnerOf(config.data)
      const asWhom = user ? [passed('user', `${user}, the owner of ${config.data}`)] : []
      const findings: CheckResult[] = []
      for await (const finding of inOrder(asWhom, everyCheck(config))) {
        findings.push(finding)
        if (!json) printPainted(asText(finding))
      }
      const count = (state: CheckResult['state']) =>
        findings.filter((finding) => finding.state === state).length
      const counts = { passed: count('passed'), warnings: count('warning'), errors: count('error') }
      print(
        json
          ? escapeJsonForTerminal({ ...counts, checks: findings })
          : `\n${counts.passed} passed, ${counts.warnings} warnings, ${counts.errors} errors`,
      )
      if (counts.errors > 0) process.exitCode = EXIT.failed
    })
}

async function* inOrder(
  first: CheckResult[],
  others: AsyncGenerator<CheckResult>,
): AsyncGenerator<CheckResult> {
  yield* first
  yield* others
}

const MARKS = { passed: ['green', '✓'], warning: ['yellow', '!'], error: ['red', '✗'] } as const
const WIDTH = 'clock of database'.length

function asText({ check, state, found, advice }: CheckResult): string {
  const [colour, mark] = MARKS[state]
  const line = `${paint(colour, mark)} ${check.padEnd(WIDTH)}  ${escapeForTerminal(found)}`
  return advice === undefined
    ? line
    : `${line}\n  ${' '.repeat(WIDTH)}  → ${escapeForTerminal(advice)}`
}
