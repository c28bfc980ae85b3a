import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { freePort } from './free-port.ts'
import { createDatabase } from './postgres.ts'
import { mintToken, PREVIEW } from './service.ts'
import { createCommandRunner } from './shared-commands.ts'
import { showLogOnFailure } from './show-on-failure.ts'
import { withTimeout } from './wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

export interface Member {
  process: ChildProcess
  /** The address of an API process. */
  url: string
  kill(signal: NodeJS.Signals): Promise<void>
}

export interface Cluster {
  databaseUrl: string
  /** The data directory of the exporters, unless they use a bucket. */
  data: string
  api(...flags: string[]): Promise<Member>
  /** Starts a worker. Only workers have access to the repositories. */
  worker(...flags: string[]): Promise<Member>
  token(login: string): Promise<string>
  /** Sends a request to an API process, which may be a shared service. */
  call(api: Pick<Member, 'url'>, token: string, path: string, init?: RequestInit): Promise<Response>
  log(): string
}

export interface ClusterOptions {
  repositories: string
  /** Flags of settings, each with its value. Every process gets those that its command has. */
  flags?: string[]
  env?: Record<string, string>
  /** An empty database. Default: a new one in the PostgreSQL of the test run. */
  databaseUrl?: string
}

/** Starts API processes without repositories and workers with them, on one database, as an operator would. */
export async function startCluster(
  t: Pick<TestContext, 'after'>,
  options: ClusterOptions,
): Promise<Cluster> {
  const databaseUrl = options.databaseUrl ?? (await createDatabase())
  const data = await mkdtemp(join(tmpdir(), 'godwit-cluster-'))
  const settings = { ...variablesOf(options.flags ?? []), GODWIT_DATABASE_URL: databaseUrl }
  const env = { ...process.env, ...options.env, ...settings, GODWIT_DATA: data }
  const members: Member[] = []
  let logged = ''

  async function start(args: string[], url: string): Promise<Member> {
    const child = spawn(GODWIT, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      logged += text
    })
    const member: Member = { process: child, url, kill: (signal) => endProcess(child, signal) }
    members.push(member)
    const what = () => `${args[0]} has started:\n${logged}`
    if (await withTimeout(what, hasStarted(child.stdout))) return member
    throw new Error(`${args[0]} did not start:\n${logged}`)
  }

  const hideLog = showLogOnFailure('all processes of the cluster', () => logged)
  t.after(async () => {
    await Promise.all(members.map((member) => member.kill('SIGKILL')))
    hideLog()
    await rm(data, { recursive: true, force: true })
  })
  return {
    databaseUrl,
    data,
    log: () => logged,
    async api(...flags) {
      const listen = `127.0.0.1:${await freePort()}`
      const args = ['serve', '--role', 'api', '--listen', listen, ...flags]
      return start(args, `http://${listen}`)
    },
    worker: (...flags) => start(['work', '--repositories', options.repositories, ...flags], ''),
    async token(login) {
      const sync = ['sync', '--repositories', options.repositories]
      const { code, stderr } = await createCommandRunner({ env })(sync)
      if (code !== 0) throw new Error(stderr)
      return mintToken({ dataDirectory: data, databaseUrl }, login)
    },
    call: ({ url }, token, path, init = {}) =>
      fetch(`${url}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { accept: PREVIEW, authorization: `bearer ${token}`, ...init.headers },
      }),
  }
}

/** Returns the environment variables of flags with values, because a command refuses flags of settings that it does not have. */
const variablesOf = (flags: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: flags.length / 2 }, (_, at) => [
      `GODWIT_${flags[2 * at]!.slice('--'.length).replaceAll('-', '_').toUpperCase()}`,
      flags[2 * at + 1]!,
    ]),
  )

async function hasStarted(output: Readable): Promise<boolean> {
  for await (const line of createInterface(output)) {
    if (line.startsWith('Godwit is')) return true
  }
  return false
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await withTimeout(`process ${child.pid} ends after ${signal}`, ended)
}
