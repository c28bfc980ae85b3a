import type { Command } from 'commander'
import { EXIT } from '../exit-codes.ts'
import { harmless, harmlessJson } from '../ground/terminal-text.ts'
import { addCommand, configOf, print, printPainted, withExamples } from './command-line.ts'
import type { CheckResult } from './doctor/check-result.ts'
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
      const findings: CheckResult[] = []
      for await (const finding of everyCheck(configOf(command))) {
        findings.push(finding)
        if (!json) printPainted(asText(finding))
      }
      const count = (state: CheckResult['state']) =>
        findings.filter((finding) => finding.state === state).length
      const [passed, warnings, errors] = [count('passed'), count('warning'), count('error')]
      print(
        json
          ? harmlessJson({ passed, warnings, errors, checks: findings })
          : `\n${passed} passed, ${warnings} warnings, ${errors} errors`,
      )
      if (errors > 0) process.exitCode = EXIT.failed
    })
}

const MARKS = { passed: ['green', '✓'], warning: ['yellow', '!'], error: ['red', '✗'] } as const
const WIDTH = 'clock of database'.length

function asText({ check, state, found, advice }: CheckResult): string {
  const [colour, mark] = MARKS[state]
  const line = `${paint(colour, mark)} ${check.padEnd(WIDTH)}  ${harmless(found)}`
  return advice === undefined ? line : `${line}\n  ${' '.repeat(WIDTH)}  → ${harmless(advice)}`
}
