import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atProcessEnd } from './process-end.ts'
import { withTimeout } from './wait-until.ts'

const PROCESS = new URL('shared-services-process.ts', import.meta.url)

/** Starts a service with these arguments, or stops the service with this id. */
export type ServiceOrder = { id: number } | { id: number; args: string[]; logFile: string }
export interface ServiceReply {
  id: number
  error?: string
}

/** A process that runs several services. */
class ServiceProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()
  readonly logs = mkdtempSync(join(tmpdir(), 'godwit-service-logs-'))
  #lastId = 0
  #hasEnded = false

  constructor(env: NodeJS.ProcessEnv) {
    // No execArgv of the test runner (see command-row.ts), but the flags of bin/godwit.
    const execArgv = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning']
    const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'ipc']
    this.#child = fork(PROCESS, { execArgv, env: { ...process.env, ...env }, stdio })
    this.#child.on('message', ({ id, error }: ServiceReply) => {
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

  async tell(what: () => string, order: ServiceOrder): Promise<void> {
    // At the end of the process, shared processes end before the cleanup of the test files.
    if (this.#hasEnded) return
    const asked = Promise.withResolvers<void>()
    this.#waiting.set(order.id, asked)
    this.#child.send(order)
    await withTimeout(what, asked.promise)
  }

  /** Ends the process; services that still run end as if killed. */
  async end(): Promise<void> {
    this.#hasEnded = true
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await withTimeout('the process of the services ends', exited)
    rmSync(this.logs, { recursive: true, force: true })
  }
}

/** One process for each environment. */
const processes = new Map<string, ServiceProcess>()

function processFor(env: Record<string, string>): ServiceProcess {
  const key = JSON.stringify(env)
  const known = processes.get(key)
  if (known) return known
  const row = new ServiceProcess(env)
  processes.set(key, row)
  atProcessEnd(() => row.end())
  return row
}

/**
 * Adds a service with these arguments of `godwit` to the shared process with this environment. All its starts
 * append to one log.
 */
export function sharedProcessService(args: string[], env: Record<string, string> = {}) {
  const row = processFor(env)
  const id = row.nextId()
  const logFile = join(row.logs, String(id))
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  return {
    log,
    start: () => row.tell(() => `a service starts:\n${log()}`, { id, args, logFile }),
    stop: () => row.tell(() => `a service stops:\n${log()}`, { id }),
  }
}
