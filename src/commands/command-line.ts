import { type Command, Help, InvalidArgumentError, Option } from 'commander'
import { addDiskFacts } from '../lib/disk-errors.ts'
import { hasCode } from '../lib/errno.ts'
import { fromNow } from '../lib/quantities.ts'
import { escapeForTerminal, escapeLinesForTerminal } from '../lib/terminal-text.ts'
import { ConfigError } from '../lib/user-error.ts'
import { actAsOwnerOf } from '../service/data-owner.ts'
import { type Config, readConfig } from '../settings/config.ts'
import { type ConfigFile, findConfigFile } from '../settings/config-file.ts'
import {
  flagOf,
  type OptionName,
  optionNames,
  optionOf,
  variableOf,
} from '../settings/setting-names.ts'
import { paint, paintState } from './paint.ts'

/** Adds a command that takes, like every other, all the settings, but one that it has another use for. */
export function addCommand(
  parent: Command,
  nameAndArguments: string,
  about: string,
  without?: OptionName,
): Command {
  const command = parent.command(nameAndArguments).description(about)
  for (const name of optionNames) if (name !== without) addSetting(command, name)
  return command.addHelpText('after', () => `\n${paint('bold', SETTINGS)} godwit help settings`)
}

/** The group of options that are the same for every command. */
export const SETTINGS = 'Settings:'

/** Adds one setting; in a group of the command's own where it has few. */
export function addSetting(command: Command, name: OptionName, group = SETTINGS): Command {
  const { argument, about, fallback, otherwise } = optionOf(name)
  const standard = fallback ?? otherwise
  const help = `${about}; ${variableOf(name)}${standard ? ` (default: ${standard})` : ''}`
  return command.addOption(new Option(`${flagOf(name)} <${argument}>`, help).helpGroup(group))
}

/** Reads the ID of such a thing. */
export const idOf =
  (what: string) =>
  (text: string): number => {
    const id = Number(text)
    if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(id)) return id
    throw new InvalidArgumentError(`A ${what} ID is a number, such as 7.`)
  }

/** The argument that is one. */
export const idArgument = (what: string) => ['<id>', `ID of the ${what}`, idOf(what)] as const

const examples = new WeakMap<Command, readonly string[]>()

export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? []

/** Lines to copy, at the end of a command's help. */
export function withExamples(command: Command, ...lines: string[]): Command {
  examples.set(command, lines)
  const title = () => paint('bold', 'Examples:')
  return command.addHelpText('after', () => `\n${[title(), ...lines].join('\n  ')}`)
}

/** The file that the command was told of; `--config` stands before or after the command's name. */
export function configFileOf(command: Command): ConfigFile | undefined {
  const { config: flag } = command.optsWithGlobals<{ config?: string }>()
  return findConfigFile({ flag, variable: process.env.GODWIT_CONFIG })
}

/** The settings of a command, but one that it has another use for, and of those that it stands under. */
export function settingsOf(command: Command, without?: OptionName): Config {
  const flags = command.optsWithGlobals<Partial<Record<OptionName, string>>>()
  if (without !== undefined) delete flags[without]
  return readConfig(flags, process.env, configFileOf(command))
}

/** The same, for a command that works on the service's data: it has to know where that is. */
export const configOf = (command: Command, without?: OptionName): Config =>
  requireKnownDataDirectory(settingsOf(command, without))

/** Refuses settings that leave it to a file which this user may not read where the data is. */
export function requireKnownDataDirectory(config: Config): Config {
  const { file, said } = config
  if (!file?.isDenied) return config
  const isPlaceSaid = said.databaseUrl !== undefined || said.data?.from !== 'default'
  if (!isPlaceSaid) throw new ConfigError([deniedFile(file.path)])
  note(`godwit: ${file.path} is ignored: this user may not read it`)
  return config
}

/** The same, where what is done to the data is done as its owner, also by root. */
export function dataConfigOf(command: Command, without?: OptionName): Config {
  const config = configOf(command, without)
  actAsOwnerOf(config.data)
  return config
}

const deniedFile = (path: string): string =>
  `this user may not read ${path}, which says where the data is: run the command as root or as the user of the service, or use --config FILE or --data DIR`

/** Why what was printed could not be written. */
let failure: Error | undefined

/**
 * Whoever reads may have seen enough (`| head`): the work goes on, and its end still counts. What cannot be written for
 * another reason, a full disk say, is told at the end, when all has been cleaned up.
 */
export function watchOutput(): void {
  failure = undefined
  process.stdout.on('error', (error) => {
    if (!hasCode(error, 'EPIPE')) failure ??= addDiskFacts(error, 'standard output') as Error
  })
  // Nobody is left to be told.
  process.stderr.on('error', () => {})
}

/** Resolves once all that was printed is out, or to why it is not. */
export async function outputFailure(): Promise<Error | undefined> {
  if (!process.stdout.destroyed) await new Promise((resolve) => process.stdout.write('', resolve))
  return failure
}

/** Data on standard output; nothing of it can steer the terminal. */
export function print(text: string): void {
  printPainted(escapeLinesForTerminal(text))
}

/** Text whose parts were made harmless before they were painted. */
export function printPainted(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Resolves when the text is out; rejects where it is not, whatever the reason. */
export function printAndFlush(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${escapeLinesForTerminal(text)}\n`, (error) =>
      error ? reject(error) : resolve(),
    )
  })
}

/** For people, beside the data. */
export function note(text: string): void {
  process.stderr.write(`${escapeLinesForTerminal(text)}\n`)
}

/** Columns as wide as their widest cell; the first row is their titles. */
export function printTable(given: readonly (readonly string[])[]): void {
  const rows = given.map((row) => row.map(escapeForTerminal))
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)),
    [],
  )
  const stateColumn = rows[0]?.indexOf('STATE')
  for (const [n, row] of rows.entries()) {
    const line = row.map((cell, i) => cell.padEnd(widths[i]!))
    if (n === 0) printPainted(paint('bold', line.join('  ').trimEnd()))
    else
      printPainted(
        line
          .map((cell, i) => (i === stateColumn ? paintCell(cell) : cell))
          .join('  ')
          .trimEnd(),
      )
  }
}

const paintCell = (cell: string): string => cell.replace(/^\w+/, (state) => paintState(state))

/** A time for a table; the exact one is in its JSON. What is no time is shown as it came. */
export function ago(time: number | string | null): string {
  if (time === null) return '-'
  const at = new Date(time)
  return Number.isNaN(at.getTime()) ? escapeForTerminal(String(time)) : fromNow(at, Date.now())
}

/** The same for programs. */
export const isoTime = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString()

const isShown = ({ helpGroupHeading }: Option): boolean => helpGroupHeading !== SETTINGS

/**
 * For a help that shows a command's own options. The settings, the same for all, have a page of their own; they stay
 * visible to commander, which so can tell what a misspelt one should have been.
 */
export const withoutSettings = {
  groupItems<T extends Command | Option>(
    this: Help,
    all: T[],
    visible: T[],
    groupOf: (item: T) => string,
  ): Map<string, T[]> {
    const groups = Help.prototype.groupItems.call(this, all, visible, groupOf as never)
    groups.delete(SETTINGS)
    return groups as Map<string, T[]>
  },
  longestOptionTermLength(this: Help, command: Command, help: Help): number {
    const widths = help
      .visibleOptions(command)
      .filter(isShown)
      .map((option) => this.displayWidth(help.styleOptionTerm(help.optionTerm(option))))
    return Math.max(0, ...widths)
  },
}
