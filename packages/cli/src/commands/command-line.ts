import { invalidNameReason } from '@godwit/lib/names'
import { ConfigError, UsageError } from '@godwit/lib/user-error'
import { switchUserToOwnerOf } from '@godwit/server/service/data-owner'
import { type Command, Help, Option } from 'commander'
import { type Config, readConfig } from '../settings/config.ts'
import { type ConfigFile, DEFAULT_CONFIG_FILE, findConfigFile } from '../settings/config-file.ts'
import { readEnvironmentFile } from '../settings/environment-file.ts'
import { flagOf, type OptionName, optionNames, optionOf } from '../settings/setting-names.ts'
import { printMessage } from './print.ts'
import { paint } from './terminal.ts'

/** Adds a command that takes `--json` and these settings. */
export const addCommand = (...args: Parameters<typeof addCommandWithoutJson>): Command =>
  addCommandWithoutJson(...args).option('--json', 'print the result as JSON')

/** Adds a command with the flags of the settings that it uses. No other setting matters to it. */
export function addCommandWithoutJson(
  parent: Command,
  nameAndArguments: string,
  about: string,
  examples: readonly string[],
  settings: readonly OptionName[] = [],
): Command {
  const command = parent.command(nameAndArguments).description(about)
  for (const name of optionNames) if (settings.includes(name)) addSetting(command, name)
  if (settings.length > 0) command.addHelpText('after', `\n${HOW_TO_SET_OTHERWISE}`)
  return withExamples(command, examples)
}

const HOW_TO_SET_OTHERWISE =
  'Settings may also be in the environment or a file: see `godwit help settings`.'

/** The help group of the settings. */
const SETTINGS = 'Settings:'

const settingOptions = new WeakSet<Option>()

/** Whether an option is a setting, and not one that only the command has. */
export const isSetting = (option: Option): boolean => settingOptions.has(option)

export function addSetting(command: Command, name: OptionName, group = SETTINGS): Command {
  const { argument, about, defaultValue, defaultDescription, isList } = optionOf(name)
  const shownDefault = defaultValue ?? defaultDescription
  const help = `${about}${shownDefault ? ` (default: ${shownDefault})` : ''}`
  const option = new Option(`${flagOf(name)} <${argument}>`, help).helpGroup(group)
  if (isList) option.argParser((text, before?: string) => (before ? `${before},${text}` : text))
  settingOptions.add(option)
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

/** Reads the settings that a command has declared. */
export function readCommandConfig<S extends OptionName>(
  command: Command,
  settings: readonly S[],
): Config<S> {
  const declared = command.options.filter(isSetting).map((option) => option.attributeName())
  const different = new Set<string>(settings).symmetricDifference(new Set(declared))
  if (different.size > 0)
    throw new Error(`${command.name()}: settings are declared or read, not both: ${[...different]}`)
  const file = configFileOf(command)
  // The SDK of the bucket reads the environment of the process.
  for (const [name, value] of Object.entries(
    readEnvironmentFile(file?.path ?? DEFAULT_CONFIG_FILE),
  ))
    process.env[name] ??= value
  return readConfig(command.opts(), process.env, { file, settings })
}

/** Reads the settings of a command that works on the service's data. Throws if it is not known where the data is. */
export const readServiceConfig = <S extends OptionName>(
  command: Command,
  settings: readonly S[],
): Config<S> => requireKnownDataDirectory(readCommandConfig(command, settings))

/** Throws if only an unreadable configuration file says where the data is. */
export function requireKnownDataDirectory<C extends Pick<Config, 'file' | 'origins'>>(
  config: C,
): C {
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
export function configAsDataOwner<S extends OptionName>(
  command: Command,
  settings: readonly (S | 'data')[],
): Config<S | 'data'> {
  const config = readServiceConfig(command, settings)
  switchUserToOwnerOf(config.data)
  return config
}

const MAX_TERM_WIDTH = 26

/**
 * Help configuration in which settings come after the other options, and a long option is on a line of its own, so that it does not
 * narrow the descriptions of the others.
 */
export const helpLayout = {
  groupItems<T extends Command | Option>(
    this: Help,
    all: T[],
    visible: T[],
    groupOf: (item: T) => string,
  ): Map<string, T[]> {
    const groups: Map<string, T[]> = Help.prototype.groupItems.call(
      this,
      all,
      visible,
      groupOf as never,
    ) as never
    const settings = groups.get(SETTINGS)
    groups.delete(SETTINGS)
    return settings ? groups.set(SETTINGS, settings) : groups
  },
  padWidth(this: Help, command: Command, help: Help): number {
    return Math.min(MAX_TERM_WIDTH, Help.prototype.padWidth.call(this, command, help))
  },
  formatItem(this: Help, term: string, width: number, description: string, help: Help): string {
    const format = (shown: string) =>
      Help.prototype.formatItem.call(this, shown, width, description, help)
    return description && help.displayWidth(term) > width
      ? `  ${term}\n${format('')}`
      : format(term)
  },
}
