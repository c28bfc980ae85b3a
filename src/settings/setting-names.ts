import { clientOptions, type Option, options } from './settings.ts'

export type OptionName = keyof typeof options
export const optionNames = Object.keys(options) as OptionName[]
export const optionOf = (name: OptionName): Option<unknown> => options[name]

/** What a client is told of its server. */
export type ClientOptionName = keyof typeof clientOptions
export const clientOptionNames = Object.keys(clientOptions) as ClientOptionName[]

type AnyName = OptionName | ClientOptionName

/** As it stands in a configuration file. */
export const fileNameOf = (name: AnyName): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

export const flagOf = (name: AnyName): string => `--${fileNameOf(name)}`

export const variableOf = (name: AnyName): string =>
  `GODWIT_${fileNameOf(name).replaceAll('-', '_').toUpperCase()}`

/** Of a server's settings and of a client's: both may stand in one file, and in one environment. */
export const anyOptionOf = (name: AnyName): Option<unknown> =>
  name in clientOptions ? clientOptions[name as ClientOptionName] : options[name as OptionName]

export const allNames: readonly AnyName[] = [...optionNames, ...clientOptionNames]
