import { type Command, Help, Option } from 'commander'
import { invalidNameReason } from '../lib/names.ts'
import { ConfigError, UsageError } from '../lib/user-error.ts'
import { switchUserToOwnerOf } from '../service/data-owner.ts'
import { type Config, readConfig } from '../settings/config.ts'
import { type ConfigFile, DEFAULT_CONFIG_FILE, findConfigFile } from '../settings/config-file.ts'
import { readEnvironmentFile } from '../settings/environment-file.ts'
import {
  flagOf,
  type OptionName,
  optionNames,
  optionOf,
  variableOf,
} from '../settings/setting-names.ts'
import { printMessage } from './print.ts'
import { paint } from './terminal.ts'

/** Adds a command that takes `--json` and all settings as options, except those whose name it uses for an option of its own. */
export const addCommand = (...args: Parameters<typeof addCommandWithoutJson>): Command =>
  addCommandWithoutJson(...args).option('--json', 'print the result as JSON')

export function addCommandWithoutJson(
  parent: Command,
  nameAndArguments: string,
  about: string,
  examples: readonly string[],
  ...except: OptionName[]
): Command {
  const command = parent.command(nameAndArguments).description(about)
  for (const name of optionNames) if (!except.includes(name)) addSetting(command, name)
  command.addHelpText('after', () => `\n${paint('bold', SETTINGS)} godwit help settings`)
  return withExamples(command, examples)
}

/** The help group of the options that are settings. */
const SETTINGS = 'Settings:'

export const isSetting = (option: Option): boolean => option.helpGroupHeading === SETTINGS

export function addSetting(command: Command, name: OptionName, group = SETTINGS): Command {
  const { argument, about, defaultValue, defaultDescription, isList } = optionOf(name)
  const shownDefault = defaultValue ?? defaultDescription
  const help = `${about}; ${variableOf(name)}${shownDefault ? ` (default: ${shownDefault})` : ''}`
  const option = new Option(`${flagOf(name)} <${argument}>`, help).helpGroup(group)
  if (isList) option.argParser((text, before?: string) => (before ? `${before},${text}` : text))
  return command.addOption(option)
}

/** Returns the parser of an ID argument or option. */
export const parseId =
  (what: string) =>
  (text: string): number => {
    const id = Number(text)
    if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(id)) return id
    throw new UsageError(`'${text}' is not a ${what} ID (a number, such as 7)`)
  }

/** Returns the parser of an option. Its error names the option and, unless that may contain a password, the value. */
export const parsed =
  <T>(flag: string, read: (text: string) => T, { isSecret = false } = {}) =>
  (text: string): T => {
    try {
      return read(text)
    } catch (error) {
      const named = isSecret ? flag : `${flag} ${text}`
      throw new UsageError(`${named}: ${(error as Error).message}`, { cause: error })
    }
  }

/** Parses the login of `--owner`; an empty text means none. */
export const parseOwner = parsed('--owner', (text) => {
  const reason = text && invalidNameReason(text)
  if (reason) throw new Error(reason)
  return text
})

/** Returns a function that throws an error of the value of an option as UsageError. */
export const asUsageError =
  (option: string) =>
  (error: Error): never => {
    throw new UsageError(`${option}: ${error.message}`, { cause: error })
  }

/** Parses an option that may be repeated. */
export const addTo = (value: string, before: string[] = []): string[] => [...before, value]

export const idArgument = (what: string) => ['<id>', `ID of the ${what}`, parseId(what)] as const

const examples = new WeakMap<Command, readonly string[]>()

export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? []

/** Adds examples to the end of a command's help. */
export function withExamples(command: Command, lines: readonly string[]): Command {
  examples.set(command, lines)
  const title = () => paint('bold', 'Examples:')
  return command.addHelpText('after', () => `\n${[title(), ...lines].join('\n  ')}`)
}

/** Reads the configuration file. `--config` may be given before or after the command's name. */
export function configFileOf(command: Command): ConfigFile | undefined {
  const { config: flag } = command.optsWithGlobals<{ config?: string }>()
  return findConfigFile({ flag, variable: process.env.GODWIT_CONFIG })
}

/** Reads the settings of a command, from its own options and those of its parents. */
export function readCommandConfig(command: Command): Config {
  const flags = command.optsWithGlobals<Record<string, string>>()
  // An option of the command may have the name of a setting.
  for (const option of command.options) if (!isSetting(option)) delete flags[option.attributeName()]
  const file = configFileOf(command)
  // The SDK of the bucket reads the environment of the process.
  for (const [name, value] of Object.entries(
    readEnvironmentFile(file?.path ?? DEFAULT_CONFIG_FILE),
  ))
    process.env[name] ??= value
  return readConfig(flags, process.env, file)
}

/** Reads the settings of a command that works on the service's data. Throws if it is not known where the data is. */
export const readServiceConfig = (command: Command): Config =>
  requireKnownDataDirectory(readCommandConfig(command))

/** Throws if only an unreadable configuration file says where the data is. */
export function requireKnownDataDirectory(config: Config): Config {
  const { file, origins } = config
  if (!file?.isDenied) return config
  const isLocationKnown = origins.databaseUrl !== undefined || origins.data?.from !== 'default'
  if (!isLocationKnown)
    throw new ConfigError([
      `this user may not read ${file.path}, which says where the data is: run the command as root or as the user of the service, or use --config FILE or --data DIR`,
    ])
  printMessage(`godwit: ${file.path} is ignored: this user may not read it`)
  return config
}

/** Reads the settings like `readServiceConfig`, and switches from root to the owner of the data directory. */
export function configAsDataOwner(command: Command): Config {
  const config = readServiceConfig(command)
  switchUserToOwnerOf(config.data)
  return config
}

/**
 * Help configuration that hides the settings, which have a help page of their own. They are not hidden options, so that
 * commander still suggests them for a misspelt one.
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
      .filter((option) => !isSetting(option))
      .map((option) => this.displayWidth(help.styleOptionTerm(help.optionTerm(option))))
    return Math.max(0, ...widths)
  },
}
