import type { FileSettings } from './file-settings.ts'
import {
  type ClientOptionName,
  fileNameOf,
  flagOf,
  type OptionName,
  variableOf,
} from './setting-names.ts'

/** What was said of a setting, and by whom. */
export interface Said {
  text: string
  from: 'flag' | 'environment' | 'file' | 'default'
  /** `FILE:LINE`, of what a file says. */
  at?: string
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Flags win over the environment, the environment over the file. */
export function saidOf(
  name: OptionName | ClientOptionName,
  flag: string | undefined,
  env: Environment,
  { settings }: FileSettings,
): Said | undefined {
  if (flag !== undefined) return { text: flag, from: 'flag' }
  // An empty variable is how a shell or a unit file says "not set".
  const variable = env[variableOf(name)]
  if (variable) return { text: variable, from: 'environment' }
  const line = settings.get(name)
  return line && { ...line, from: 'file' }
}

/** The setting by the name it was given under. */
export function spellingOf(
  name: OptionName | ClientOptionName,
  { from, at }: Pick<Said, 'from' | 'at'>,
): string {
  if (from === 'environment') return variableOf(name)
  return from === 'file' ? `${at}: ${fileNameOf(name)}` : flagOf(name)
}

/** An address of a database, fit to be shown. */
export function withoutPassword(address: string): string {
  const url = new URL(address)
  if (url.password) url.password = '***'
  // libpq takes a password here too.
  url.search = ''
  return url.href
}
