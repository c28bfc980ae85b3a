import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atProcessEnd } from './process-end.ts'
import { withTimeout } from './wait-until.ts'

const PROCESS = new URL('shared-services-process.ts', import.meta.url)

/** Starts a service with these arguments, or stops the service with this id. */
export type ServiceOrder =
  | { id: number }
  | { id: number; args: string[]; logFile: string; env: Record<string, string> }
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
    // The flags of bin/godwit, with a larger young generation, which saves a tenth of the CPU time. Those of the test runner have
    // relative paths and change the environment.
    const execArgv = ['--max-semi-space-size=32', '--disable-warning=ExperimentalWarning']
    const stdio: StdioOptions = ['ignore', 'inherit', 'inherit', 'ipc']
    this.#child = fork(PROCESS, { execArgv, env: { ...process.env, ...env }, stdio })
    this.#child.on('message', ({ id, error }: ServiceReply) => {
      const reply = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) reply?.resolve()
      else reply?.reject(new Error(error))
    })
    this.#child.on('exit', (code, signal) => {
      const ended = new Error(`the service process exited with ${code ?? signal}`)
      for (const reply of this.#waiting.values()) reply.reject(ended)
    })
  }

  nextId(): number {
    return ++this.#lastId
  }

  async send(describe: () => string, command: ServiceOrder): Promise<void> {
    // At the end of the process, shared processes end before the cleanup of the test files.
    if (this.#hasEnded) return
    const reply = Promise.withResolvers<void>()
    this.#waiting.set(command.id, reply)
    this.#child.send(command)
    await withTimeout(describe, reply.promise)
  }

  /** Ends the process; services that still run end as if killed. */
  async end(): Promise<void> {
    this.#hasEnded = true
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await withTimeout('the service process exits', exited)
    rmSync(this.logs, { recursive: true, force: true })
  }
}

/**
 * One process for each environment. The variables for the bucket are set in the process of services without a bucket too, which
 * do not read them: they are the same for all tests of a run.
 */
const processes = new Map<string, ServiceProcess>()

function processFor(env: Record<string, string>): ServiceProcess {
  const key = JSON.stringify(env)
  const running = processes.get(key)
  if (running) return running
  const shared = new ServiceProcess(env)
  processes.set(key, shared)
  atProcessEnd(() => shared.end())
  return shared
}

/**
 * Adds a service with these arguments of `godwit` to the shared process with this environment. All its starts
 * append to one log.
 */
export function sharedProcessService(args: string[], env: Record<string, string> = {}) {
  const isOfBucket = ([name]: [string, string]) => name.startsWith('AWS_')
  const entries = Object.entries(env)
  const bucketEnv = Object.fromEntries(entries.filter(isOfBucket))
  const shared = processFor(Object.fromEntries(entries.filter((each) => !isOfBucket(each))))
  const id = shared.nextId()
  const logFile = join(shared.logs, String(id))
  const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  return {
    log,
    start: () =>
      shared.send(() => `a service starts:\n${log()}`, { id, args, logFile, env: bucketEnv }),
    stop: () => shared.send(() => `a service stops:\n${log()}`, { id }),
  }
}
