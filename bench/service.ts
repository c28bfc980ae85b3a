import { type StdioOptions, spawn } from 'node:child_process'
import { type FileHandle, mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { run } from './measure.ts'
import { addressOf, memoryOf, stop } from './process.ts'

const GODWIT = new URL('../bin/godwit', import.meta.url).pathname

/** The service as an operator runs it. */
export interface RunningService {
  url: string
  token: string
  pid: number
  /** The time from the start of the process until `/readyz` answered with 200, in seconds. */
  startSeconds: number
  /** Starts a migration and resolves to its id. */
  start(repositories: readonly string[]): Promise<number>
  /** Resolves when the migration is exported; rejects when it failed. */
  untilExported(id: number): Promise<void>
  /** Returns the peak resident memory of the process in MB. */
  peakMemory(): Promise<number>
  stop(): Promise<void>
}

export interface ServiceOptions {
  repositories: string
  data: string
  login: string
  /** Uses PostgreSQL instead of SQLite. */
  databaseUrl?: string | undefined
  /** A command prefix, such as taskset with the core to use. */
  under?: readonly string[]
  /** The log file. Default: only errors are logged, to standard error. */
  log?: FileHandle
}

export async function startService(
  { repositories, data, login, databaseUrl, under = [], log }: ServiceOptions,
  ...flags: string[]
): Promise<RunningService> {
  await mkdir(data, { recursive: true })
  const database = databaseUrl === undefined ? [] : ['--database-url', databaseUrl]
  const settings = ['--data', data, '--repositories', repositories, ...database]
  const listen = `127.0.0.1:${await freePort()}`
  const level = log ? 'info' : 'error'
  const args = ['serve', ...settings, '--listen', listen, '--log-level', level, ...flags]
  const [program, ...before] = [...under, GODWIT]
  const stdio: StdioOptions = ['ignore', 'pipe', log?.fd ?? 'inherit']
  const startedAt = performance.now()
  const child = spawn(program!, [...before, ...args], { stdio })
  const url = await addressOf(child)
  await until(async () => (await fetch(`${url}/readyz`)).ok)
  const startSeconds = (performance.now() - startedAt) / 1000
  const token = await run(GODWIT, ['token', 'add', login, '--data', data, ...database])
  const headers = {
    accept: 'application/vnd.github.wyandotte-preview+json',
    authorization: `bearer ${token}`,
  }

  async function start(names: readonly string[]): Promise<number> {
    const body = JSON.stringify({ repositories: names })
    const response = await fetch(`${url}/user/migrations`, { method: 'POST', headers, body })
    if (response.status !== 201) throw new Error(`not started: ${await response.text()}`)
    return ((await response.json()) as { id: number }).id
  }

  async function isExported(id: number): Promise<boolean> {
    const path = `${url}/user/migrations/${id}?exclude=repositories`
    const { state } = (await (await fetch(path, { headers })).json()) as { state: string }
    if (state === 'failed') throw new Error(`migration ${id} failed`)
    return state === 'exported'
  }

  return {
    url,
    token,
    pid: child.pid!,
    startSeconds,
    start,
    untilExported: (id) => until(() => isExported(id)),
    peakMemory: () => memoryOf(child.pid!, 'VmHWM'),
    stop: () => stop(child),
  }
}

/** Each poll costs about 1 ms of CPU time of the client and of the service: at 20 ms that was a tenth of an export. */
const POLL_MS = 100

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(POLL_MS)
}
