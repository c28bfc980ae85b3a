import { clientOptions, type Option, options } from './settings.ts'

export type OptionName = keyof typeof options
export const optionNames = Object.keys(options) as OptionName[]

export type ClientOptionName = keyof typeof clientOptions
export const clientOptionNames = Object.keys(clientOptions) as ClientOptionName[]

export type AnyName = OptionName | ClientOptionName

/** The name in a configuration file. */
export const fileNameOf = (name: AnyName): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

export const flagOf = (name: AnyName): string => `--${fileNameOf(name)}`

export const variableOf = (name: AnyName): string =>
  `GODWIT_${fileNameOf(name).replaceAll('-', '_').toUpperCase()}`

/** The name of a setting in a configuration file, as a flag and as an environment variable. */
export const namesOf = (name: AnyName) => ({
  name: fileNameOf(name),
  flag: flagOf(name),
  variable: variableOf(name),
})

/** Returns a setting of the service or of client commands: a file or an environment may have both. */
export const optionOf = (name: AnyName): Option<unknown> =>
  name in clientOptions ? clientOptions[name as ClientOptionName] : options[name as OptionName]

export const allNames: readonly AnyName[] = [...optionNames, ...clientOptionNames]

export interface SettingOrigin {
  text: string
  from: 'flag' | 'environment' | 'file' | 'default'
  /** `FILE:LINE`, if it comes from a file; the last line of a list. */
  at?: string
}

export type FileSetting = Required<Pick<SettingOrigin, 'text' | 'at'>>

export type Environment = Readonly<Record<string, string | undefined>>

/** Finds the text of a setting: the flag, else the environment variable, else the file. */
export function originOf(
  name: AnyName,
  flag: string | undefined,
  env: Environment,
  file: { settings: ReadonlyMap<string, FileSetting> } | undefined,
): SettingOrigin | undefined {
  if (flag !== undefined) return { text: flag, from: 'flag' }
  // Shells and unit files unset a variable by making it empty.
  const variable = env[variableOf(name)]
  if (variable) return { text: variable, from: 'environment' }
  const line = file?.settings.get(name)
  return line && { ...line, from: 'file' }
}

/** Returns the name under which the setting was given, for error messages. */
export function labelOf(name: AnyName, { from, at }: Pick<SettingOrigin, 'from' | 'at'>): string {
  if (from === 'environment') return variableOf(name)
  return from === 'file' ? `${at}: ${fileNameOf(name)}` : flagOf(name)
}
