import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atProcessEnd } from './process-end.ts'
import { prepareService, type ServiceOptions, type SharedService, untilReady } from './service.ts'
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

  constructor() {
    // Without the runner's own flags, as in command-row.ts, and with those of bin/godwit.
    const execArgv = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning']
    this.#child = fork(PROCESS, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
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

let row: Row | undefined

function theRow(): Row {
  if (row) return row
  const made = new Row()
  atProcessEnd(() => made.end())
  row = made
  return made
}

/**
 * A service as `godwit serve` runs it, but in one process with the others of the tests that run in this one: to load the code
 * takes longer than most of them. For whoever neither kills it nor needs an environment of its own.
 */
export async function startInRow(
  t: Pick<TestContext, 'after'>,
  options: Omit<ServiceOptions, 'env'>,
): Promise<SharedService> {
  // Each thread of an exporter has its own code to load, too.
  const flags = ['--concurrency', '1', ...(options.flags ?? [])]
  const { args, remove, ...about } = await prepareService({ ...options, flags })
  const services = theRow()
  const id = services.nextId()
  const logFile = join(services.logs, String(id))
  const log = () => readFileSync(logFile, 'utf8')
  const start = async () => {
    await services.tell(() => `a service starts:\n${log()}`, { id, args, logFile })
    await untilReady(about.url, log)
  }
  const stop = () => services.tell(() => `a service stops:\n${log()}`, { id })
  t.after(async () => {
    await stop()
    await remove()
  })
  await start()
  return { ...about, log, stop, restart: start }
}
