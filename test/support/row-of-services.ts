import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atProcessEnd } from './process-end.ts'
import { inTime } from './wait-until.ts'

const PROCESS = new URL('service-row-process.ts', import.meta.url)

/** Start one with these arguments, or stop the one that was started by that id. */
export type Order = { id: number } | { id: number; args: string[]; logFile: string }
export interface Done {
  id: number
  error?: string
}

/** A process that runs services side by side. */
class Row {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()
  readonly logs = mkdtempSync(join(tmpdir(), 'godwit-service-logs-'))
  #lastId = 0
  #hasEnded = false

  constructor(env: NodeJS.ProcessEnv) {
    // Without the runner's own flags, as in command-row.ts, and with those of bin/godwit.
    const execArgv = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning']
    const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'ipc']
    this.#child = fork(PROCESS, { execArgv, env: { ...process.env, ...env }, stdio })
    this.#child.on('message', ({ id, error }: Done) => {
      const asked = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) asked?.resolve()
      else asked?.reject(new Error(error))
    })
    this.#child.on('exit', (code, signal) => {
      const ended = new Error(`the process of the services ended: ${code ?? signal}`)
      for (const asked of this.#waiting.values()) asked.reject(ended)
    })
  }

  nextId(): number {
    return ++this.#lastId
  }

  async tell(what: () => string, order: Order): Promise<void> {
    // At the end of a process, what its tests share is gone before what one of its files has made.
    if (this.#hasEnded) return
    const asked = Promise.withResolvers<void>()
    this.#waiting.set(order.id, asked)
    this.#child.send(order)
    await inTime(what, asked.promise)
  }

  /** Services that still run end as by SIGKILL. */
  async end(): Promise<void> {
    this.#hasEnded = true
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await inTime('the process of the services ends', exited)
    rmSync(this.logs, { recursive: true, force: true })
  }
}

/** One for each environment that was asked for. */
const rows = new Map<string, Row>()

function rowWith(env: Record<string, string>): Row {
  const key = JSON.stringify(env)
  const known = rows.get(key)
  if (known) return known
  const row = new Row(env)
  rows.set(key, row)
  atProcessEnd(() => row.end())
  return row
}

/** A service in the row of that environment, under the arguments of `godwit`: each start of it goes on with the same log. */
export function rowService(args: string[], env: Record<string, string> = {}) {
  const row = rowWith(env)
  const id = row.nextId()
  const logFile = join(row.logs, String(id))
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  return {
    log,
    start: () => row.tell(() => `a service starts:\n${log()}`, { id, args, logFile }),
    stop: () => row.tell(() => `a service stops:\n${log()}`, { id }),
  }
}
