import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { createGit, type Git } from '../../packages/git/src/git.ts'
import { gitDirectory } from '../../packages/hosts/src/directory/git-directory.ts'
import { ensureAccount } from '../../packages/server/src/accounts/account-store.ts'
import { createAuthenticator } from '../../packages/server/src/accounts/authenticator.ts'
import { addToken } from '../../packages/server/src/accounts/token-store.ts'
import { cloneTokens } from '../../packages/server/src/http/credentials/clone-tokens.ts'
import type { ServerOptions } from '../../packages/server/src/http/server.ts'
import { embeddedQueue } from '../../packages/server/src/queue/embedded.ts'
import { syncAllRepositories } from '../../packages/server/src/repositories/sync.ts'
import { type Engine, openDatabase } from './databases.ts'
import {
  addresses,
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
  rendering,
} from './description-server.ts'
import { type GitHost, gitHost } from './git-host.ts'
import { PREVIEW } from './service.ts'
import { withTimeout } from './wait-until.ts'

export interface GitResult {
  code: number | null
  output: string
}

/** The environment of the git client, independent of the machine's configuration. */
const CLIENT_ENVIRONMENT = {
  PATH: process.env.PATH,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  LC_ALL: 'C',
}

/** Starts a server for clones in this process, with a git host behind it and a real git client. */
export async function cloneScene(
  t: TestContext,
  fill: (host: GitHost) => Promise<unknown>,
  { engine = 'sqlite', serverGit, lfsDirectory, ...more }: SceneOptions = {},
) {
  const host = await gitHost()
  t.after(host.remove)
  await fill(host)
  const { db, pool } = await openDatabase(t, engine)
  const work = await mkdtemp(join(tmpdir(), 'godwit-clone-'))
  t.after(() => rm(work, { recursive: true, force: true }))
  const clock = { ahead: 0 }
  const now = () => Date.now() + clock.ahead
  const key = { bytes: Buffer.alloc(32, 7) }
  const searchPath = process.env.PATH ?? ''
  const git = serverGit ?? createGit({ program: 'git', searchPath, home: join(work, '.git-home') })
  const source = gitDirectory({ root: host.root, git, lfsDirectory })
  const sync = () => syncAllRepositories({ db, source, now })
  await sync()
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
  let url = addresses.api
  const ownAddresses = {
    ...addresses,
    get api() {
      return url
    },
  }
  const tokens = cloneTokens({ key: () => key.bytes, now, isServed: true })
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    ...{ db, now, log, source, queue: embeddedQueue({ db }) },
    ...{ maxUnfinished: 10, lockTtlMs: 1000, isIndexRead: () => true },
    rendering: { ...rendering, addresses: ownAddresses },
    authenticator: createAuthenticator({ db, now }),
    rateLimit: { perHour: 5000, pool },
    cloneSlots: { max: 8, waitMs: 60_000 },
    cloneTokens: tokens,
    ...more,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  url = `http://127.0.0.1:${port}`
  const running = new Set<ChildProcess>()
  t.after(() => {
    for (const child of running) child.kill('SIGKILL')
  })

  function start(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): { child: ChildProcess; ended: Promise<GitResult> } {
    const child = spawn('git', args, {
      cwd: work,
      env: { ...CLIENT_ENVIRONMENT, HOME: work, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    const ended = new Promise<GitResult>((resolve) => {
      child.once('close', (code) => {
        running.delete(child)
        resolve({ code, output })
      })
    })
    return { child, ended }
  }

  return {
    ...{ host, db, url, work, clock, key, tokens, source, sync, start },
    log: () => lines.join(''),
    /** Runs git as a client. */
    git: (...args: string[]): Promise<GitResult> =>
      withTimeout(() => `git ${args.join(' ')} ends`, start(args).ended),
    /** Returns the clone URL of a repository, with a password. */
    cloneUrl: (fullName: string, password?: string, user = 'x-access-token') =>
      `http://${password === undefined ? '' : `${user}:${password}@`}127.0.0.1:${port}/${fullName}`,
    async token(login: string): Promise<string> {
      const account = await ensureAccount(db, login, 0)
      return addToken(db, account, { name: '', expiresAt: null, now: now() })
    },
    call: (token: string, path: string, init: RequestInit = {}) =>
      fetch(url + path, {
        ...init,
        headers: { accept: PREVIEW, authorization: `bearer ${token}`, ...init.headers },
      }),
  }
}

type SceneOptions = {
  engine?: Engine
  serverGit?: Git
  lfsDirectory?: string
} & Partial<ServerOptions>
