import { withoutPassword } from '@godwit/server/db/database-address'
import type { Command } from 'commander'
import { type ClientOrigins, clientOrigins } from '../settings/client-config.ts'
import type { Config } from '../settings/config.ts'
import { DEFAULT_CONFIG_FILE } from '../settings/config-file.ts'
import {
  allNames,
  namesOf,
  type OptionName,
  optionNames,
  optionOf,
  type SettingOrigin,
} from '../settings/setting-names.ts'
import { readUserServers } from '../settings/user-servers.ts'
import { addCommand, configFileOf, readCommandConfig } from './command-line.ts'
import { type JsonOption, print, printJson } from './print.ts'

export function configCommand(program: Command, about: string): void {
  addCommand(
    program,
    'config',
    about,
    [
      'godwit config',
      'godwit config --config /etc/godwit/config --json',
      'GODWIT_DATA=/var/lib/godwit godwit config',
    ],
    optionNames,
  ).action(({ json }: JsonOption, command: Command) => {
    const config = readCommandConfig(command, optionNames)
    const user = readUserServers(process.env)
    const client = clientOrigins({}, process.env, configFileOf(command), user)
    if (json) printJson({ file: shownFile(config), settings: shownSettings(config, client) })
    else print(describeConfig(config, client))
  })
}

/** Lists all settings with their values and origins, without secrets. `at` is `FILE:LINE`. */
export const shownSettings = (config: Config, client: ClientOrigins) =>
  allNames.map((name) => {
    const origin =
      name in client ? client[name as keyof ClientOrigins] : config.origins[name as OptionName]
    const { text = null, from = null, at = null } = origin ?? derived(config, name as OptionName)
    const isSecret = text !== null && optionOf(name).secret
    const hidden = name === 'databaseUrl' ? withoutPassword : () => '***'
    const value = isSecret ? hidden(text) : text
    return { ...namesOf(name), value, from, at }
  })

/** Returns a value that is derived from other settings. */
function derived(config: Config, name: OptionName): Partial<SettingOrigin> {
  const value = config[name]
  return value === undefined ? {} : { text: String(value), from: 'default' }
}

interface ShownFile {
  path: string
  from: 'flag' | 'environment' | 'default'
  state: 'read' | 'denied' | 'absent'
}

function shownFile({ file }: Config): ShownFile {
  if (!file) return { path: DEFAULT_CONFIG_FILE, from: 'default', state: 'absent' }
  const { path, from, isDenied } = file
  return { path, from, state: isDenied ? 'denied' : 'read' }
}

const STATES: Record<ShownFile['state'], string> = {
  read: '',
  denied: ', this user may not read it',
  absent: ', does not exist',
}

/** Formats one line per setting: its value and where it comes from. */
export function describeConfig(config: Config, client: ClientOrigins): string {
  const { path, from, state } = shownFile(config)
  const rows: [flag: string, value: string][] = [['--config', `${path} (${from}${STATES[state]})`]]
  for (const { flag, value, from, at } of shownSettings(config, client))
    rows.push([flag, value === null ? '(not set)' : `${value} (${at ?? from})`])
  const width = Math.max(...rows.map(([flag]) => flag.length))
  return rows.map(([flag, value]) => `${flag.padEnd(width)} ${value}`).join('\n')
}
