import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { findAccount } from '../../packages/server/src/accounts/account-store.ts'
import { addToken } from '../../packages/server/src/accounts/token-store.ts'
import { connect, type DatabaseOptions } from '../../packages/server/src/db/connect.ts'
import { freePort } from './free-port.ts'
import { createCommandRunner } from './shared-commands.ts'
import { sharedProcessService } from './shared-services.ts'
import { showLogOnFailure } from './show-on-failure.ts'
import { copyUpgradedFile, copyWithQueue } from './upgraded-databases.ts'
import { until, withTimeout } from './wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const runSharedCommand = createCommandRunner()

export const PREVIEW = 'application/vnd.github.wyandotte-preview+json'

export interface ServiceOptions {
  /** The root directory of the repositories. */
  repositories: string
  engine?: 'sqlite' | 'postgres'
  flags?: string[]
  /** The port to listen on. Default: a free port. */
  port?: number
  /** The data directory, which is then not removed. Default: a new one. */
  data?: string
  /** An existing PostgreSQL database. Default: a new one. */
  databaseUrl?: string
  env?: Record<string, string>
}

/** A running service. */
export interface SharedService {
  url: string
  data: string
  /** Undefined on SQLite. */
  databaseUrl: string | undefined
  /** Returns the whole log. */
  log(): string
  /** Runs another command on the same data and returns its output. */
  godwit(...args: string[]): Promise<string>
  token(login: string, ...flags: string[]): Promise<string>
  /** Sends a request to the API. */
  call(token: string, path: string, init?: RequestInit): Promise<Response>
  /** Stops it like SIGTERM; afterwards its log is complete. */
  stop(): Promise<void>
  /** Starts it again, on the same data and port. */
  restart(): Promise<void>
}

/** A service in its own process, as an operator runs it. */
export interface Service extends SharedService {
  /** The id of the running or last process. */
  pid(): number
  /** Kills the process and resolves to its exit code, or to null if the signal ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** Starts it again in the shared process, which is loaded already. It cannot be killed then. */
  restartShared(): Promise<void>
}

/** Starts a service in its own process, for tests that kill it or look at its process. Other tests use `startSharedService`. */
export async function startService(
  t: Pick<TestContext, 'after'>,
  options: ServiceOptions,
): Promise<Service> {
  const { args, remove, ...prepared } = await prepareService(options)
  let logged = ''
  let running: ChildProcess | undefined
  let shared: ReturnType<typeof sharedProcessService> | undefined
  const log = () => logged + (shared?.log() ?? '')

  async function start(): Promise<void> {
    const env = { ...process.env, ...options.env }
    const child = spawn(GODWIT, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    running = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      logged += text
    })
    const what = () => `the service listens:\n${logged}`
    const address = await withTimeout(what, readAddress(child.stdout))
    if (address === undefined) throw new Error(`the service did not start:\n${logged}`)
    await untilReady(address, () => logged)
  }

  async function restartShared(): Promise<void> {
    shared ??= sharedProcessService(args, options.env)
    await shared.start()
    await untilReady(prepared.url, log)
  }

  async function kill(signal: NodeJS.Signals): Promise<number | null> {
    if (shared) throw new Error('it runs in the shared process, which must not be killed')
    return end(signal)
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!running) return null
    if (running.exitCode === null && running.signalCode === null) {
      running.kill(signal)
      await withTimeout(() => `the service ends after ${signal}:\n${logged}`, once(running, 'exit'))
    }
    return running.exitCode
  }

  const hideLog = showLogOnFailure(`the service at ${prepared.url}`, log)
  t.after(async () => {
    await end('SIGKILL')
    await shared?.stop()
    hideLog()
    await remove()
  })
  await start()
  return {
    ...prepared,
    log,
    stop: async () => void (await (shared ? shared.stop() : kill('SIGTERM'))),
    pid: () => running!.pid!,
    kill,
    restart: start,
    restartShared,
  }
}

/** Prepares everything of a service but its process: the arguments of `godwit`, and its client. */
export async function prepareService(options: Omit<ServiceOptions, 'env'>) {
  const data = options.data ?? (await mkdtemp(join(tmpdir(), 'godwit-service-')))
  const settings: Record<string, string> = {
    GODWIT_DATA: data,
    GODWIT_REPOSITORIES: options.repositories,
  }
  const flags = ['--data', data, '--repositories', options.repositories]
  const databaseUrl =
    options.databaseUrl ?? (options.engine === 'postgres' ? await copyWithQueue() : undefined)
  if (databaseUrl !== undefined) {
    settings.GODWIT_DATABASE_URL = databaseUrl
    flags.push('--database-url', databaseUrl)
  } else if (options.data === undefined) await copyUpgradedFile(data)
  const listen = `127.0.0.1:${options.port ?? (await freePort())}`
  const url = `http://${listen}`

  const godwit: SharedService['godwit'] = async (...args) => {
    const { code, stdout, stderr } = await runSharedCommand(args, settings)
    if (code !== 0) throw Object.assign(new Error(stderr), { code, stdout, stderr })
    return stdout.trimEnd()
  }
  const token: SharedService['token'] = (login, ...flags) =>
    flags.length === 0
      ? mintToken({ dataDirectory: data, databaseUrl }, login)
      : godwit('token', 'add', login, ...flags)
  const call: SharedService['call'] = (token, path, init = {}) =>
    fetch(path.startsWith('http') ? path : `${url}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { accept: PREVIEW, authorization: `bearer ${token}`, ...init.headers },
    })
  return {
    ...{ url, data, databaseUrl, godwit, token, call },
    args: ['serve', ...flags, '--listen', listen, ...(options.flags ?? [])],
    async remove() {
      if (options.data === undefined) await rm(data, { recursive: true, force: true })
    },
  }
}

async function readAddress(output: Readable): Promise<string | undefined> {
  for await (const line of createInterface(output)) {
    const address = /listening at (http:\S+)/.exec(line)?.[1]
    if (address) return address
  }
  return undefined
}

export async function untilReady(url: string, log: () => string): Promise<void> {
  const what = () => `the service at ${url} is ready:\n${log()}`
  await until(what, async () => (await fetch(`${url}/readyz`)).ok)
}

export { untilEnded } from './ended-migration.ts'

/** Adds a token like `godwit token add LOGIN`, without starting a process. */
export async function mintToken(database: DatabaseOptions, login: string): Promise<string> {
  const { db, close } = await connect(database)
  try {
    const account = (await findAccount(db, login)) ?? assert.fail(`account ${login} does not exist`)
    return await addToken(db, account, { name: '', expiresAt: null, now: Date.now() })
  } finally {
    await close()
  }
}

/** Removes clone tokens, which change every minute, from a response body. */
export const withoutCloneTokens = (body: string): string =>
  body.replaceAll(/"temp_clone_token":"gwc_[\w-]+"/g, '"temp_clone_token":"gwc_"')
