import { readFileSync } from 'node:fs'
import { type Config, ConfigMistakes, type Environment, readConfig } from './config.ts'
import { path, webAddress } from './config-values.ts'
import { isName } from './ground/names.ts'

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

/** `--token`, a file, then the environment; GitHub's own variable counts for GitHub alone, nobody else is to see it. */
export function readClientConfig(flags: ClientFlags, env: Environment): ClientConfig {
  const { git, vendor } = flags
  const config = readConfig({ ...(git && { git }), ...(vendor && { vendor }) }, env)
  const url = said('--url', flags.url, webAddress) ?? said('GODWIT_URL', env.GODWIT_URL, webAddress)
  if (url === undefined) throw new ConfigMistakes(['no server: give --url URL or set GODWIT_URL'])
  const token = flags.token ?? tokenOf(flags, env) ?? (isGitHub(url) && env.GITHUB_TOKEN)
  if (!token) throw new ConfigMistakes([NO_TOKEN])
  // Anything else cannot be sent, and the message that says so would show it.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ConfigMistakes(['the token contains spaces or other invalid characters'])
  const { searchPath } = config
  const org = said('--org', flags.org, login)
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

function login(text: string): string {
  if (!isName(text)) throw new Error('must be the login of an organization')
  return text
}

const NO_TOKEN = 'no access token: give --token-file FILE, or set GODWIT_TOKEN_FILE or GODWIT_TOKEN'

const isGitHub = (url: string): boolean =>
  /(^|\.)(github\.com|ghe\.com)$/.test(new URL(url).hostname)

function tokenOf(flags: ClientFlags, env: Environment): string | undefined {
  const file =
    said('--token-file', flags.tokenFile, path) ??
    said('GODWIT_TOKEN_FILE', env.GODWIT_TOKEN_FILE, path)
  if (file === undefined) return env.GODWIT_TOKEN
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token !== '') return token
  } catch (error) {
    throw new ConfigMistakes([`the token file cannot be read: ${(error as Error).message}`])
  }
  throw new ConfigMistakes([`${file} contains no token`])
}

function said<T>(name: string, text: string | undefined, read: (text: string) => T): T | undefined {
  if (!text) return undefined
  try {
    return read(text)
  } catch (error) {
    throw new ConfigMistakes([`${name}: ${(error as Error).message}`])
  }
}
