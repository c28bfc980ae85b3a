import { readFileSync } from 'node:fs'
import { isLoopback } from '@godwit/lib/ip-address'
import { isName } from '@godwit/lib/names'
import { ConfigError } from '@godwit/lib/user-error'
import { type Config, readConfig } from './config.ts'
import { type ConfigFile, mistakesIn } from './config-file.ts'
import {
  type ClientOptionName,
  clientOptionNames,
  type Environment,
  labelOf,
  originOf,
  type SettingOrigin,
} from './setting-names.ts'
import { clientOptions } from './settings.ts'
import { serverKey, type UserServers } from './user-servers.ts'

export type ClientFlags = Partial<Record<ClientOptionName | 'vendor' | 'git' | 'org', string>>

export interface ClientConfig extends Pick<Config, 'vendor' | 'git' | 'searchPath'> {
  url: string
  token: string
  /** Where the token comes from: a flag, a variable or a file. */
  tokenFrom: string
  /** The organization whose migrations are requested; undefined for the caller's own. */
  org: string | undefined
  /** Warnings to print before the first request. */
  warnings: string[]
}

export type ClientOrigins = Readonly<Record<ClientOptionName, SettingOrigin | undefined>>

/** Finds the settings in flags, else the environment, else what `godwit auth login` stored, else the default file. */
export function clientOrigins(
  flags: Partial<Record<ClientOptionName, string>>,
  env: Environment,
  file: ConfigFile | undefined,
  user?: UserServers,
): ClientOrigins {
  const entries = clientOptionNames.map((name) => [name, originOf(name, flags[name], env, file)])
  const known: ClientOrigins = Object.fromEntries(entries)
  const { active, path: at } = user ?? {}
  // A file that is named by --config or GODWIT_CONFIG is as explicit as a flag or a variable.
  const isGiven = known.url && (known.url.from !== 'file' || file?.from !== 'default')
  if (active === undefined || isGiven) return known
  return { ...known, url: { text: active, from: 'file', ...(at !== undefined && { at }) } }
}

export function readClientConfig(
  flags: ClientFlags,
  env: Environment,
  file?: ConfigFile,
  user?: UserServers,
): ClientConfig {
  const { git, vendor } = flags
  const { url: urlOrigin } = clientOrigins(flags, env, file, user)
  const url = urlOrigin && read('url', urlOrigin)
  if (url === undefined)
    throw new ConfigError(['no server: run `godwit auth login`, give --url URL or set GODWIT_URL'])
  // The settings of a configuration file, above all its token, are for the server of that file only.
  const serverFile = isServerOf(file, url) ? file : undefined
  const programs = { ...(git && { git }), ...(vendor && { vendor }) }
  const config = readConfig(programs, env, { file: serverFile, settings: ['git', 'vendor'] })
  const mistakes = mistakesIn(serverFile, clientOptionNames)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  const origins = clientOrigins(flags, env, serverFile)
  const found = findToken(origins, { url, env, file: serverFile, user })
  if (!found)
    throw new ConfigError([
      `no access token for ${url}: run \`godwit auth login --url ${url}\`, give --token-file FILE, or set GODWIT_TOKEN_FILE or GODWIT_TOKEN`,
    ])
  const { token, from } = found
  // fetch would reject other characters with a message that shows the token.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ConfigError(['the token contains spaces or other invalid characters'])
  if (flags.org !== undefined && !isName(flags.org))
    throw new ConfigError(['--org: must be the login of an organization'])
  const server = { url, token, tokenFrom: from, org: flags.org, vendor: config.vendor }
  const warnings: string[] = []
  if (flags.token)
    warnings.push(
      'every user of this machine can see a token in the arguments; use --token-file FILE instead',
    )
  if (from === user?.path && user.isExposed)
    warnings.push(
      `other users of this machine may read ${from}, which contains tokens: run \`chmod 600 ${from}\``,
    )
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !isLoopback(hostname))
    warnings.push(`the token is sent to ${hostname} without encryption`)
  return { ...server, git: config.git, searchPath: config.searchPath, warnings }
}

const isGitHub = (url: string): boolean =>
  /(^|\.)(github\.com|ghe\.com)$/.test(new URL(url).hostname)

function isServerOf(file: ConfigFile | undefined, url: string): boolean {
  const { url: origin } = clientOrigins({}, {}, file)
  return origin !== undefined && serverKey(read('url', origin)) === serverKey(url)
}

interface TokenPlaces {
  url: string
  env: Environment
  file: ConfigFile | undefined
  user: UserServers | undefined
}

/** Finds the token for a server, in the order in which the places are documented. GITHUB_TOKEN is only for GitHub. */
function findToken({ token, tokenFile }: ClientOrigins, { url, env, file, user }: TokenPlaces) {
  if (token?.from === 'flag') return { token: token.text, from: '--token' }
  if (tokenFile && tokenFile.from !== 'file') {
    const from = `${labelOf('tokenFile', tokenFile)}: ${tokenFile.text}`
    return { token: readToken(tokenFile), from }
  }
  const variable = env.GODWIT_TOKEN || !isGitHub(url) ? 'GODWIT_TOKEN' : 'GITHUB_TOKEN'
  if (env[variable]) return { token: env[variable], from: variable }
  const mine = user?.servers.get(serverKey(url))
  const stored = mine && { token: mine.token, from: user!.path }
  const isFileNamed = file?.from === 'flag' || file?.from === 'environment'
  if (stored && !isFileNamed) return stored
  if (tokenFile) return { token: readToken(tokenFile), from: tokenFile.text }
  return token ? { token: token.text, from: token.at ?? '' } : stored
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
