import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { run } from './measure.ts'

const GODWIT = new URL('../bin/godwit', import.meta.url).pathname

/** The service as an operator runs it, on an empty data directory. */
export interface RunningService {
  url: string
  token: string
  /** Starts a migration and resolves to its id. */
  start(repositories: readonly string[]): Promise<number>
  /** Resolves when the migration has ended well. */
  untilExported(id: number): Promise<void>
  /** The most memory the process has ever had resident, in MB. */
  peakMemory(): Promise<number>
  stop(): Promise<void>
}

export async function startService(
  { repositories, data, login }: { repositories: string; data: string; login: string },
  ...flags: string[]
): Promise<RunningService> {
  await mkdir(data, { recursive: true })
  const settings = ['--data', data, '--repositories', repositories]
  const listen = `127.0.0.1:${await freePort()}`
  const args = ['serve', ...settings, '--listen', listen, '--log-level', 'error', ...flags]
  const child = spawn(GODWIT, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await addressOf(child)
  await until(async () => (await fetch(`${url}/readyz`)).ok)
  const token = await run(GODWIT, ['token', 'add', login, ...settings])
  const headers = {
    accept: 'application/vnd.github.wyandotte-preview+json',
    authorization: `bearer ${token}`,
  }

  async function start(names: readonly string[]): Promise<number> {
    const body = JSON.stringify({ repositories: names })
    const answer = await fetch(`${url}/user/migrations`, { method: 'POST', headers, body })
    if (answer.status !== 201) throw new Error(`not started: ${await answer.text()}`)
    return ((await answer.json()) as { id: number }).id
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
    start,
    untilExported: (id) => until(() => isExported(id)),
    peakMemory: async () => peakOf(child.pid!),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface(child.stdout!)) {
    const address = /listening at (http:\S+)/.exec(line)?.[1]
    if (address) return address
  }
  throw new Error('the service did not start')
}

/** Asked often enough to be exact, and seldom enough to cost nothing. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5)
}

async function peakOf(pid: number): Promise<number> {
  const status = await readFile(join('/proc', String(pid), 'status'), 'utf8')
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) * 1024) / 1e6
}
