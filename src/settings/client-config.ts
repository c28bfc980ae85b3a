import { readFileSync } from 'node:fs'
import { isName } from '../lib/names.ts'
import { ConfigError } from '../lib/user-error.ts'
import { type Config, readConfig } from './config.ts'
import type { ConfigFile } from './config-file.ts'
import {
  type ClientOptionName,
  clientOptionNames,
  type Environment,
  labelOf,
  originOf,
  type SettingOrigin,
} from './setting-names.ts'
import { clientOptions } from './settings.ts'

/** The options of a client command. */
export interface ClientFlags {
  url?: string
  tokenFile?: string
  /** Every user of the machine can see it, so the user is warned. */
  token?: string
  vendor?: string
  git?: string
  org?: string
}

export interface ClientConfig extends Pick<Config, 'vendor' | 'git' | 'searchPath'> {
  url: string
  token: string
  /** The organization whose migrations are requested; undefined for the caller's own. */
  org: string | undefined
  /** Warnings to print before the first request. */
  warnings: string[]
}

export type ClientOrigins = Readonly<Record<ClientOptionName, SettingOrigin | undefined>>

export function clientOrigins(
  flags: Partial<Record<ClientOptionName, string>>,
  env: Environment,
  file: ConfigFile | undefined,
): ClientOrigins {
  const entries = clientOptionNames.map((name) => [name, originOf(name, flags[name], env, file)])
  return Object.fromEntries(entries)
}

/** Reads the server and the token. GITHUB_TOKEN is used for GitHub only, so that no other server gets it. */
export function readClientConfig(
  flags: ClientFlags,
  env: Environment,
  file?: ConfigFile,
): ClientConfig {
  const { git, vendor } = flags
  const { url: urlOrigin } = clientOrigins(flags, env, file)
  const url = urlOrigin && read('url', urlOrigin)
  if (url === undefined) throw new ConfigError([NO_SERVER])
  // The settings of a configuration file, above all its token, are for the server of that file only.
  const serverFile = isServerOf(file, url) ? file : undefined
  const config = readConfig({ ...(git && { git }), ...(vendor && { vendor }) }, env, serverFile)
  const origins = clientOrigins(flags, env, serverFile)
  const token = tokenFor(origins, env) ?? (isGitHub(url) && env.GITHUB_TOKEN)
  if (!token) throw new ConfigError([NO_TOKEN])
  // fetch would reject other characters with a message that shows the token.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ConfigError(['the token contains spaces or other invalid characters'])
  if (flags.org && !isName(flags.org))
    throw new ConfigError(['--org: must be the login of an organization'])
  const server = { url, token, org: flags.org || undefined, vendor: config.vendor }
  const warnings = [...(flags.token ? [TOKEN_IN_ARGUMENTS] : []), ...encryptionWarnings(url)]
  return { ...server, git: config.git, searchPath: config.searchPath, warnings }
}

const TOKEN_IN_ARGUMENTS =
  'every user of this machine can see a token in the arguments; use --token-file FILE instead'

function encryptionWarnings(url: string): string[] {
  const { protocol, hostname } = new URL(url)
  const isLocal = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
  if (protocol !== 'http:' || isLocal) return []
  return [`the token is sent to ${hostname} without encryption`]
}

const NO_SERVER = 'no server: give --url URL or set GODWIT_URL'
const NO_TOKEN = 'no access token: give --token-file FILE, or set GODWIT_TOKEN_FILE or GODWIT_TOKEN'

const isGitHub = (url: string): boolean =>
  /(^|\.)(github\.com|ghe\.com)$/.test(new URL(url).hostname)

function isServerOf(file: ConfigFile | undefined, url: string): boolean {
  const { url: origin } = clientOrigins({}, {}, file)
  return origin !== undefined && read('url', origin) === url
}

/** Finds the token: --token, else the token file of a flag or variable, else GODWIT_TOKEN, else the configuration file. */
function tokenFor(origins: ClientOrigins, env: Environment): string | undefined {
  if (origins.token?.from === 'flag') return origins.token.text
  const { tokenFile } = origins
  if (tokenFile && tokenFile.from !== 'file') return readToken(tokenFile)
  if (env.GODWIT_TOKEN) return env.GODWIT_TOKEN
  return tokenFile ? readToken(tokenFile) : origins.token?.text
}

function readToken(tokenFile: SettingOrigin): string {
  const file = read('tokenFile', tokenFile)
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token !== '') return token
  } catch (error) {
    throw new ConfigError([`the token file cannot be read: ${(error as Error).message}`])
  }
  throw new ConfigError([`${file} contains no token`])
}

function read(name: ClientOptionName, origin: SettingOrigin): string {
  try {
    return clientOptions[name].read(origin.text)
  } catch (error) {
    throw new ConfigError([`${labelOf(name, origin)}: ${(error as Error).message}`])
  }
}
