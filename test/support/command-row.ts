import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { atProcessEnd } from './process-end.ts'
import { withTimeout } from './wait-until.ts'

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

/** Where standard output goes: to the caller, or to a full disk. */
export type Output = 'caught' | 'full'

/** A process that runs one command after the other. */
class CommandProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown[]>

  constructor(output: Output) {
    const stdout = output === 'full' ? openSync('/dev/full', 'w') : 'pipe'
    // Pipes, so that commands do not see the terminal of the test run. No execArgv, because the flags of the test runner
    // contain relative paths and change the environment.
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

  /** Runs one command at a time. A process that is spent cannot run another. */
  async run(command: Command): Promise<Ended & { isSpent: boolean }> {
    const reply = once(this.#child, 'message')
    this.#child.send(command)
    const died = this.#exited.then(([code]) =>
      assert.fail(`the process of the commands ended: ${code}`),
    )
    const what = `godwit ${command.args.join(' ')} ends`
    const [ended] = (await withTimeout(what, Promise.race([reply, died]))) as [
      Ended & { isSpent: boolean },
    ]
    return { ...ended, stdout: Buffer.from(ended.stdout) }
  }

  async end(): Promise<void> {
    // A command that leaves something running would keep a process of its own from ending; the same happens here.
    if (this.#child.connected) this.#child.disconnect()
    const [code] = await withTimeout('the process of the commands ends by itself', this.#exited)
    assert.equal(code, 0)
  }
}

const processes = new Map<Output, CommandProcess>()
/** Resolves when the last command has ended. */
let quiet: Promise<unknown> = Promise.resolve()

function processFor(output: Output): CommandProcess {
  const known = processes.get(output)
  if (known) return known
  const row = new CommandProcess(output)
  processes.set(output, row)
  atProcessEnd(() => row.end())
  return row
}

/**
 * Runs `godwit ARGS` in a process that all tests of this process share, because starting a process takes longer
 * than most commands. Commands run one at a time.
 */
export function runInSharedProcess(command: Command, output: Output = 'caught'): Promise<Ended> {
  const ended = quiet.then(async () => {
    const row = processFor(output)
    const { isSpent, ...result } = await row.run(command)
    if (isSpent) {
      processes.delete(output)
      await row.end()
    }
    return result
  })
  quiet = ended.catch(() => {})
  return ended
}

/** Returns a function that runs commands in the shared process, with this folder and environment, and returns text. */
export function sharedCommands({ cwd = process.cwd(), env = process.env } = {}) {
  return async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { stdout, ...ended } = await runInSharedProcess({ args, cwd, env: { ...env, ...more } })
    return { ...ended, stdout: String(stdout) }
  }
}
