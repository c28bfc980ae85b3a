import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { hasCode } from '@godwit/lib/errno'
import { ConfigError } from '@godwit/lib/user-error'
import { readWithMode } from './config-file.ts'
import type { Environment } from './setting-names.ts'

/** The servers that a user has logged in to with `godwit auth login`, by their normalized URLs. */
export interface UserServers {
  /** The file that holds them. It need not exist. */
  path: string
  /** The server that commands use without --url. */
  active: string | undefined
  servers: ReadonlyMap<string, StoredServer>
  /** Whether other users of this machine may read the file. */
  isExposed: boolean
}

type StoredServer = { login: string; token: string }

/** Normalizes the URL of a server, so that a token is found for every spelling of the same address, and for no other address. */
export const serverKey = (url: string): string => new URL(url).href.replace(/\/+$/, '')

/** Reads the file of the user's servers: `servers.json` in `$XDG_CONFIG_HOME/godwit`, by default `~/.config/godwit`. */
export function readUserServers(env: Environment): UserServers {
  const { XDG_CONFIG_HOME: configured = '', HOME } = env
  // The XDG specification says that a relative path is invalid and must be ignored.
  const base = isAbsolute(configured) ? configured : join(HOME || homedir(), '.config')
  const path = join(base, 'godwit', 'servers.json')
  let found: ReturnType<typeof readWithMode>
  try {
    found = readWithMode(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR'))
      return { path, active: undefined, servers: new Map(), isExposed: false }
    throw new ConfigError([`${path} cannot be read: ${(error as Error).message.split(',')[0]}`])
  }
  return { path, ...parseServers(found.text, path), isExposed: (found.mode & 0o077) !== 0 }
}

/** The messages of JSON.parse quote the text, which contains tokens, so they are not passed on. */
function parseServers(text: string, path: string): Pick<UserServers, 'active' | 'servers'> {
  try {
    const { active, servers } = JSON.parse(text) as { active?: unknown; servers: object }
    const read = Object.entries(servers).map(([url, { login, token }]): [string, StoredServer] => {
      if (typeof login !== 'string' || typeof token !== 'string') throw new TypeError(url)
      return [serverKey(url), { login, token }]
    })
    return {
      active: typeof active === 'string' ? serverKey(active) : undefined,
      servers: new Map(read),
    }
  } catch {
    throw new ConfigError([`${path} is invalid: remove it and run \`godwit auth login\` again`])
  }
}

export const formatServers = ({ active, servers }: Pick<UserServers, 'active' | 'servers'>) =>
  `${JSON.stringify({ active, servers: Object.fromEntries(servers) }, null, 2)}\n`
