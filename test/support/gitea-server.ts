import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { lastLines, showOnFailure } from './show-on-failure.ts'
import { until } from './wait-until.ts'

const PROGRAM = process.env.GODWIT_TEST_GITEA

/** A real server for tests, given by the path of its program. */
export const GITEA = {
  needed: {
    skip: PROGRAM ? false : 'GODWIT_TEST_GITEA is not set to a program of Gitea or Forgejo',
  },
} as const

export interface GiteaServer {
  url: string
  /** Runs the server's program with its configuration, also as root. */
  program: string
  /** The directory of the bare repositories, OWNER/NAME.git in lower case. */
  repositories: string
  /** The directory of the LFS objects. */
  lfs: string
  /** The version of Gitea, or of the Gitea that a Forgejo is based on: 1.22 is 122. */
  version: number
  env: NodeJS.ProcessEnv
  /** A file with a token of the administrator. */
  tokenFile: string
  run(args: readonly string[]): Promise<string>
  /** Sends a request to a path below /api/v1 and returns its JSON; with a body, it is a POST. */
  api<T>(path: string, body?: object): Promise<T>
  /** Returns all pages of a list. */
  all<T>(path: string): Promise<T[]>
  bytes(address: string): Promise<string>
  addUser(name: string): Promise<void>
  stop(): Promise<void>
}

/** Runs the restore.sh of a directory of dumps, which restores all of them, and returns its output. */
export async function restoreAll(
  dumps: string,
  { env, program, url, tokenFile }: Pick<GiteaServer, 'env' | 'program' | 'url' | 'tokenFile'>,
  more: Record<string, string> = {},
): Promise<string> {
  const settings = { GITEA: program, GITEA_URL: url, GITEA_TOKEN_FILE: tokenFile, ...more }
  const child = spawn('sh', [join(dumps, 'restore.sh')], {
    env: { ...env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  return output
}

const ADMIN = { name: 'operator', password: 'Eleven-days-0ver-0pen-sea' }
const AUTHORIZATION = `Basic ${Buffer.from(`${ADMIN.name}:${ADMIN.password}`).toString('base64')}`

/** Starts a server with SQLite in an empty directory. */
export async function giteaServer(base: string): Promise<GiteaServer> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const program = join(base, 'gitea')
  const config = join(base, 'app.ini')
  const env = environmentIn(base)
  await mkdir(join(base, 'data'), { recursive: true })
  await writeFile(program, `#!/bin/sh\nexec '${PROGRAM}' --config '${config}' "$@"\n`)
  await chmod(program, 0o755)
  const run = (args: readonly string[]) => execute(program, args, { env, cwd: base })
  const secret = (name: string) =>
    execute(PROGRAM!, ['generate', 'secret', name], { env, cwd: base })
  const secrets = {
    key: (await secret('SECRET_KEY')).trim(),
    token: (await secret('INTERNAL_TOKEN')).trim(),
    lfs: (await secret('JWT_SECRET')).trim(),
  }
  await writeFile(config, configIn(base, port, url, secrets))
  await run(['migrate'])
  const addUser = async (name: string, ...more: string[]) => {
    const password = name === ADMIN.name ? ADMIN.password : randomBytes(16).toString('base64')
    const options = ['--username', name, '--email', `${name}@example.com`, '--password', password]
    await run(['admin', 'user', 'create', ...options, '--must-change-password=false', ...more])
  }
  await addUser(ADMIN.name, '--admin')
  const log = join(base, 'web.log')
  const child = startWeb(program, env, base, log)
  const server = {
    url,
    program,
    env,
    run,
    ...createApiClient(url),
    addUser: (name: string) => addUser(name),
  }
  try {
    const version = await until('the server responds', async () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${readFileSync(log, 'utf8')}`)
      return await server.api<{ version: string }>('/version').catch(() => undefined)
    })
    const tokenFile = join(base, 'token')
    await writeFile(tokenFile, await createToken(server))
    const repositories = join(base, 'repositories')
    const known = {
      tokenFile,
      repositories,
      lfs: join(base, 'lfs'),
      version: giteaVersion(version.version),
    }
    const hideLog = showOnFailure(`the log of ${url}`, () =>
      lastLines(readFileSync(log, 'utf8').trimEnd().split('\n')),
    )
    return { ...server, ...known, stop: () => stop(child).finally(hideLog) }
  } catch (error) {
    await stop(child)
    throw error
  }
}

/** The environment without the user's configuration and without an installed server. */
function environmentIn(base: string): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env
  const { username } = userInfo()
  const work = { GITEA_WORK_DIR: base, GITEA_CUSTOM: join(base, 'custom') }
  return { PATH, HOME: base, USER: username, ...(TMPDIR ? { TMPDIR } : {}), ...work }
}

function configIn(
  base: string,
  port: number,
  url: string,
  { key, token, lfs }: Record<'key' | 'token' | 'lfs', string>,
): string {
  return `APP_NAME = Test
RUN_USER = ${userInfo().username}
RUN_MODE = prod
WORK_PATH = ${base}
; Without this, it refuses to run as root.
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
PROTOCOL = http
DOMAIN = 127.0.0.1
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = ${url}
LOCAL_ROOT_URL = ${url}
APP_DATA_PATH = ${join(base, 'data')}
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = true
LFS_JWT_SECRET = ${lfs}
[lfs]
PATH = ${join(base, 'lfs')}
[migrations]
; For a mirror of one of its own repositories.
ALLOW_LOCALNETWORKS = true
[database]
DB_TYPE = sqlite3
PATH = ${join(base, 'data', 'gitea.db')}
[repository]
ROOT = ${join(base, 'repositories')}
[security]
INSTALL_LOCK = true
SECRET_KEY = ${key}
INTERNAL_TOKEN = ${token}
[service]
DISABLE_REGISTRATION = true
[indexer]
ISSUE_INDEXER_TYPE = db
[picture]
DISABLE_GRAVATAR = true
[mailer]
ENABLED = false
[log]
MODE = console
LEVEL = Warn
ROOT_PATH = ${join(base, 'log')}
`
}

function startWeb(program: string, env: NodeJS.ProcessEnv, cwd: string, log: string): ChildProcess {
  const file = openSync(log, 'a')
  return spawn(program, ['web'], { env, cwd, stdio: ['ignore', file, file] })
}

function createApiClient(url: string): Pick<GiteaServer, 'api' | 'all' | 'bytes'> {
  const api: GiteaServer['api'] = async <T>(path: string, body?: object) => {
    const response = await fetch(`${url}api/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${text}`)
    return JSON.parse(text) as T
  }
  return {
    api,
    // Old servers send neither a count nor a link to the next page.
    async all<T>(path: string) {
      const found: T[] = []
      const sign = path.includes('?') ? '&' : '?'
      for (let page = 1; ; page++) {
        const more = await api<T[] | null>(`${path}${sign}page=${page}&limit=50`)
        if (!more?.length) return found
        found.push(...more)
      }
    },
    async bytes(address) {
      const response = await fetch(address, { headers: { authorization: AUTHORIZATION } })
      if (!response.ok) throw new Error(`${address} responded with ${response.status}`)
      return await response.text()
    },
  }
}

async function createToken({ api }: Pick<GiteaServer, 'api'>): Promise<string> {
  const settings = { name: 'restore', scopes: ['all'] }
  return (await api<{ sha1: string }>(`/users/${ADMIN.name}/tokens`, settings)).sha1
}

/**
 * Parses a Forgejo version such as `7.0.0+gitea-1.22.0`; a version without the suffix is newer than all known
 * differences.
 */
function giteaVersion(version: string): number {
  const [, major, minor] = /(?:gitea-|^)(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) === 1 ? 100 + Number(minor) : 199
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

function execute(
  program: string,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`, { cause: error }))
      else resolve(stdout)
    })
  })
}
