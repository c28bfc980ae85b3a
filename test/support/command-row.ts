import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { atProcessEnd } from './process-end.ts'
import { inTime } from './wait-until.ts'

const PROCESS = new URL('command-row-process.ts', import.meta.url)

export interface Command {
  args: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
}

export interface Ended {
  code: number
  stdout: Buffer
  stderr: string
}

/** Where standard output goes: to whoever asked, or to a disk that is full. */
export type Output = 'caught' | 'full'

/** A process that runs one command after the other. */
class Row {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>

  constructor(output: Output) {
    const stdout = output === 'full' ? openSync('/dev/full', 'w') : 'pipe'
    // Pipes, so that no command takes a terminal for its own that the tests are run at. Without the runner's own flags: they
    // name files from where the tests are run, and make of the environment what a test file needs.
    this.#child = fork(PROCESS, [output], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', stdout, 'pipe', 'ipc'],
    })
    if (stdout !== 'pipe') closeSync(stdout)
    this.#child.stdout?.pipe(process.stderr)
    this.#child.stderr?.pipe(process.stderr)
    this.#exited = once(this.#child, 'exit')
  }

  /** One at a time. Who is spent can run no other. */
  async run(command: Command): Promise<Ended & { isSpent: boolean }> {
    const told = once(this.#child, 'message')
    this.#child.send(command)
    const died = this.#exited.then(([code]) =>
      assert.fail(`the process of the commands ended: ${code}`),
    )
    const what = `godwit ${command.args.join(' ')} ends`
    const [ended] = (await inTime(what, Promise.race([told, died]))) as [
      Ended & { isSpent: boolean },
    ]
    return { ...ended, stdout: Buffer.from(ended.stdout) }
  }

  async end(): Promise<void> {
    // A command that leaves something running would keep its own process from ending, and so this one.
    if (this.#child.connected) this.#child.disconnect()
    const [code] = await inTime('the process of the commands ends by itself', this.#exited)
    assert.equal(code, 0)
  }
}

const rows = new Map<Output, Row>()
/** What was asked for last has ended. */
let quiet: Promise<unknown> = Promise.resolve()

function rowWith(output: Output): Row {
  const known = rows.get(output)
  if (known) return known
  const row = new Row(output)
  rows.set(output, row)
  atProcessEnd(() => row.end())
  return row
}

/**
 * Runs `godwit ARGS` where its output and its code alone matter: one process for all such commands of the tests that run in
 * this one, since to start it takes longer than any of them. One at a time.
 */
export function runInRow(command: Command, output: Output = 'caught'): Promise<Ended> {
  const ended = quiet.then(async () => {
    const row = rowWith(output)
    const { isSpent, ...result } = await row.run(command)
    if (isSpent) {
      rows.delete(output)
      await row.end()
    }
    return result
  })
  quiet = ended.catch(() => {})
  return ended
}

/** The same for what is said, with the same folder and environment again and again. */
export function commandRow({ cwd = process.cwd(), env = process.env } = {}) {
  return async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { stdout, ...ended } = await runInRow({ args, cwd, env: { ...env, ...more } })
    return { ...ended, stdout: String(stdout) }
  }
}
