import { readFileSync } from 'node:fs'
import { isName } from '../lib/names.ts'
import { ConfigError } from '../lib/user-error.ts'
import { type Config, readConfig } from './config.ts'
import type { ConfigFile } from './config-file.ts'
import { type ClientOptionName, clientOptionNames } from './setting-names.ts'
import { type Environment, type Said, saidOf, spellingOf } from './setting-origin.ts'
import { clientOptions } from './settings.ts'

/** What a client of a server is told on its command line. */
export interface ClientFlags {
  url?: string
  tokenFile?: string
  /** Seen by everybody on the machine; taken all the same. */
  token?: string
  vendor?: string
  git?: string
  org?: string
}

export interface ClientConfig extends Pick<Config, 'vendor' | 'git' | 'searchPath'> {
  url: string
  token: string
  /** The organization whose migrations it is about; undefined for the caller's own. */
  org: string | undefined
  /** What the person should know before anything is sent. */
  warnings: string[]
}

export type ClientSaid = Readonly<Record<ClientOptionName, Said | undefined>>

/** What was said of the server, and by whom. */
export function clientSaid(
  flags: Partial<Record<ClientOptionName, string>>,
  env: Environment,
  file: ConfigFile | undefined,
): ClientSaid {
  const entries = clientOptionNames.map((name) => [name, saidOf(name, flags[name], env, file)])
  return Object.fromEntries(entries)
}

/** `--token`, a file, then the environment; GitHub's own variable counts for GitHub alone, nobody else is to see it. */
export function readClientConfig(
  flags: ClientFlags,
  env: Environment,
  file?: ConfigFile,
): ClientConfig {
  const { git, vendor } = flags
  const { url: named } = clientSaid(flags, env, file)
  const url = named && read('url', named)
  if (url === undefined) throw new ConfigError([NO_SERVER])
  // What a file says of one server is not for another, its token least of all.
  const ofServer = isServerOf(file, url) ? file : undefined
  const config = readConfig({ ...(git && { git }), ...(vendor && { vendor }) }, env, ofServer)
  const told = clientSaid(flags, env, ofServer)
  const token = tokenFor(told, env) ?? (isGitHub(url) && env.GITHUB_TOKEN)
  if (!token) throw new ConfigError([NO_TOKEN])
  // Anything else cannot be sent, and the message that says so would show it.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ConfigError(['the token contains spaces or other invalid characters'])
  const { searchPath } = config
  const org = organization(flags.org)
  const common = { vendor: config.vendor, git: config.git, searchPath }
  return { ...common, url, token, org, warnings: warnings() }

  function warnings(): string[] {
    const inArguments = 'every user of this machine can see a token in the arguments'
    const { protocol, hostname } = new URL(url!)
    const isNear = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
    return [
      ...(flags.token ? [`${inArguments}; use --token-file FILE instead`] : []),
      ...(protocol === 'http:' && !isNear
        ? [`the token is sent to ${hostname} without encryption`]
        : []),
    ]
  }
}

function organization(text: string | undefined): string | undefined {
  if (text && !isName(text)) throw new ConfigError(['--org: must be the login of an organization'])
  return text || undefined
}

const NO_SERVER = 'no server: give --url URL or set GODWIT_URL'
const NO_TOKEN = 'no access token: give --token-file FILE, or set GODWIT_TOKEN_FILE or GODWIT_TOKEN'

const isGitHub = (url: string): boolean =>
  /(^|\.)(github\.com|ghe\.com)$/.test(new URL(url).hostname)

function isServerOf(file: ConfigFile | undefined, url: string): boolean {
  const { url: said } = clientSaid({}, {}, file)
  return said !== undefined && read('url', said) === url
}

/** Who is nearer to the keyboard wins; of one speaker, a file wins over the token itself. */
function tokenFor(told: ClientSaid, env: Environment): string | undefined {
  if (told.token?.from === 'flag') return told.token.text
  const { tokenFile } = told
  if (tokenFile && tokenFile.from !== 'file') return tokenIn(tokenFile)
  if (env.GODWIT_TOKEN) return env.GODWIT_TOKEN
  return tokenFile ? tokenIn(tokenFile) : told.token?.text
}

function tokenIn(tokenFile: Said): string {
  const file = read('tokenFile', tokenFile)
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token !== '') return token
  } catch (error) {
    throw new ConfigError([`the token file cannot be read: ${(error as Error).message}`])
  }
  throw new ConfigError([`${file} contains no token`])
}

function read(name: ClientOptionName, said: Said): string {
  try {
    return clientOptions[name].read(said.text)
  } catch (error) {
    throw new ConfigError([`${spellingOf(name, said)}: ${(error as Error).message}`])
  }
}
