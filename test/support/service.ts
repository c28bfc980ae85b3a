import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { commandRow } from './command-row.ts'
import { freePort } from './free-port.ts'
import { mintToken } from './mint-token.ts'
import { rowService } from './row-of-services.ts'
import { copyUpgradedFile, copyWithQueue } from './upgraded-databases.ts'
import { inTime, until } from './wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const inRow = commandRow()

export const PREVIEW = 'application/vnd.github.wyandotte-preview+json'

export interface ServiceOptions {
  /** The git host that it serves. */
  repositories: string
  engine?: 'sqlite' | 'postgres'
  flags?: string[]
  /** Where it listens; one of its own unless told. */
  port?: number
  /** Where its data is to be, which then is not its to remove. */
  data?: string
  /** In PostgreSQL, where that is made already. */
  databaseUrl?: string
  env?: Record<string, string>
}

/** A service that runs, known by its address alone. */
export interface SharedService {
  url: string
  data: string
  /** Where it is on PostgreSQL. */
  databaseUrl: string | undefined
  /** Everything it has logged. */
  log(): string
  /** Runs another command on the same data and returns what it printed. */
  godwit(...args: string[]): Promise<string>
  token(login: string, ...flags: string[]): Promise<string>
  /** A request as a client of the API makes it. */
  call(token: string, path: string, init?: RequestInit): Promise<Response>
  /** As by SIGTERM: when it has stopped, its log is whole. */
  stop(): Promise<void>
  /** Starts it again, on the same data and the same port. */
  restart(): Promise<void>
}

/** The service as an operator runs it: a process of its own. */
export interface Service extends SharedService {
  /** Of the process that runs now, or ran last. */
  pid(): number
  /** How it ended: its code, or null where the signal did it. */
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** As `restart`, in the process of services that nobody kills, which is loaded already: it is not killed again. */
  restartInRow(): Promise<void>
}

/** For tests that kill it, or look at its process; for the others there is `startInRow`. */
export async function startService(
  t: Pick<TestContext, 'after'>,
  options: ServiceOptions,
): Promise<Service> {
  const { args, remove, ...about } = await prepareService(options)
  let logged = ''
  let running: ChildProcess | undefined
  let inTheRow: ReturnType<typeof rowService> | undefined
  const log = () => logged + (inTheRow?.log() ?? '')

  async function start(): Promise<void> {
    const env = { ...process.env, ...options.env }
    const child = spawn(GODWIT, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    running = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      logged += text
    })
    const what = () => `the service listens:\n${logged}`
    const address = await inTime(what, addressSaid(child.stdout))
    if (address === undefined) throw new Error(`the service did not start:\n${logged}`)
    await untilReady(address, () => logged)
  }

  async function restartInRow(): Promise<void> {
    inTheRow ??= rowService(args, options.env)
    await inTheRow.start()
    await untilReady(about.url, log)
  }

  async function kill(signal: NodeJS.Signals): Promise<number | null> {
    if (inTheRow) throw new Error('it runs in the process of services that nobody kills')
    return end(signal)
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!running) return null
    if (running.exitCode === null && running.signalCode === null) {
      running.kill(signal)
      await inTime(() => `the service ends after ${signal}:\n${logged}`, once(running, 'exit'))
    }
    return running.exitCode
  }

  t.after(async () => {
    await end('SIGKILL')
    await inTheRow?.stop()
    await remove()
  })
  await start()
  return {
    ...about,
    log,
    stop: async () => void (await (inTheRow ? inTheRow.stop() : kill('SIGTERM'))),
    pid: () => running!.pid!,
    kill,
    restart: start,
    restartInRow,
  }
}

/** All about a service but the process that it runs in: what `godwit` is told, and how it is asked. */
export async function prepareService(options: Omit<ServiceOptions, 'env'>) {
  const data = options.data ?? (await mkdtemp(join(tmpdir(), 'godwit-service-')))
  const settings = ['--data', data, '--repositories', options.repositories]
  const databaseUrl =
    options.databaseUrl ?? (options.engine === 'postgres' ? await copyWithQueue() : undefined)
  if (databaseUrl !== undefined) settings.push('--database-url', databaseUrl)
  else if (options.data === undefined) await copyUpgradedFile(data)
  const listen = `127.0.0.1:${options.port ?? (await freePort())}`
  const url = `http://${listen}`

  const godwit: SharedService['godwit'] = async (...args) => {
    const { code, stdout, stderr } = await inRow([...args, ...settings])
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
    args: ['serve', ...settings, '--listen', listen, ...(options.flags ?? [])],
    async remove() {
      if (options.data === undefined) await rm(data, { recursive: true, force: true })
    },
  }
}

async function addressSaid(output: Readable): Promise<string | undefined> {
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
