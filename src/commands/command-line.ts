import { type Command, Option } from 'commander'
import { type Config, flagOf, optionNames, optionOf, readConfig, variableOf } from '../config.ts'

/** A mistake of the person at the keyboard: said in one line, without a stack. */
export class UserMistake extends Error {
  override name = 'UserMistake'
}

/** Adds a command that takes, like every other, all the settings. */
export function addCommand(parent: Command, nameAndArguments: string, about: string): Command {
  const command = parent.command(nameAndArguments).description(about)
  for (const name of optionNames) {
    const { argument, about, fallback, otherwise } = optionOf(name)
    const standard = fallback ?? otherwise
    const help = `${about}; ${variableOf(name)}${standard ? ` (default: ${standard})` : ''}`
    command.addOption(new Option(`${flagOf(name)} <${argument}>`, help).helpGroup('Settings:'))
  }
  return command
}

export function configOf(command: Command): Config {
  return readConfig(command.opts(), process.env)
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Columns as wide as their widest cell. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)),
    [],
  )
  for (const row of rows)
    print(
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
}

/** A time for a table, in UTC. */
export const minute = (at: number | null): string =>
  at === null ? '-' : new Date(at).toISOString().slice(0, 16)
