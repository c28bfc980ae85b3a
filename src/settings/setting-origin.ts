import type { ConfigFile } from './config-file.ts'
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
  file: Pick<ConfigFile, 'settings'> | undefined,
): Said | undefined {
  if (flag !== undefined) return { text: flag, from: 'flag' }
  // An empty variable is how a shell or a unit file says "not set".
  const variable = env[variableOf(name)]
  if (variable) return { text: variable, from: 'environment' }
  const line = file?.settings.get(name)
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
