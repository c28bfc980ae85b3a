import { type Command, Option } from 'commander'
import { type Config, flagOf, optionNames, optionOf, readConfig, variableOf } from '../config.ts'
import { paint } from './paint.ts'

/** Adds a command that takes, like every other, all the settings. */
export function addCommand(parent: Command, nameAndArguments: string, about: string): Command {
  const command = parent.command(nameAndArguments).description(about)
  for (const name of optionNames) addSetting(command, name)
  return command
}

export function addSetting(command: Command, name: (typeof optionNames)[number]): Command {
  const { argument, about, fallback, otherwise } = optionOf(name)
  const standard = fallback ?? otherwise
  const help = `${about}; ${variableOf(name)}${standard ? ` (default: ${standard})` : ''}`
  return command.addOption(new Option(`${flagOf(name)} <${argument}>`, help).helpGroup('Settings:'))
}

/** Lines to copy, at the end of a command's help. */
export function withExamples(command: Command, ...lines: string[]): Command {
  const title = () => paint('bold', 'Examples:')
  return command.addHelpText('after', () => `\n${[title(), ...lines].join('\n  ')}`)
}

export function configOf(command: Command): Config {
  return readConfig(command.opts(), process.env)
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** For people, beside the data. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Columns as wide as their widest cell; the first row is their titles. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)),
    [],
  )
  for (const [n, row] of rows.entries()) {
    const line = row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')
    print(n === 0 ? paint('bold', line.trimEnd()) : line.trimEnd())
  }
}

/** A time for a table, in UTC. */
export const minute = (at: number | null): string =>
  at === null ? '-' : new Date(at).toISOString().slice(0, 16)
