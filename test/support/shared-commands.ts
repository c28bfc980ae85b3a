import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { atProcessEnd } from './process-end.ts'
import { withTimeout } from './wait-until.ts'

const PROCESS = new URL('shared-commands-process.ts', import.meta.url)

export interface Command {
  args: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
}

export interface CommandResult {
  code: number
  stdout: Buffer
  stderr: string
}

/** Whether standard output is captured for the caller, or written to a full disk. */
export type Output = 'captured' | 'full'

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

  /** Runs a command. The caller waits for its end before the next one. */
  async run(command: Command): Promise<CommandResult & { hasSwitchedUser: boolean }> {
    const reply = once(this.#child, 'message')
    this.#child.send(command)
    const died = this.#exited.then(([code]) =>
      assert.fail(`the command process exited with ${code}`),
    )
    const what = `godwit ${command.args.join(' ')} ends`
    const [ended] = (await withTimeout(what, Promise.race([reply, died]))) as [
      CommandResult & { hasSwitchedUser: boolean },
    ]
    return { ...ended, stdout: Buffer.from(ended.stdout) }
  }

  async end(): Promise<void> {
    // The process cannot exit while a timer or socket of an earlier command is still open.
    if (this.#child.connected) this.#child.disconnect()
    const [code] = await withTimeout('the command process exits by itself', this.#exited)
    assert.equal(code, 0)
  }
}

const processes = new Map<Output, CommandProcess>()
/** Resolves when the last command has ended. */
let lastCommand: Promise<unknown> = Promise.resolve()

function processFor(output: Output): CommandProcess {
  const running = processes.get(output)
  if (running) return running
  const shared = new CommandProcess(output)
  processes.set(output, shared)
  atProcessEnd(() => shared.end())
  return shared
}

/**
 * Runs `godwit ARGS` in a process that all tests of this process share, because starting a process takes longer
 * than most commands. Commands run one at a time.
 */
export function runInSharedProcess(
  command: Command,
  output: Output = 'captured',
): Promise<CommandResult> {
  const ended = lastCommand.then(async () => {
    const shared = processFor(output)
    const { hasSwitchedUser, ...result } = await shared.run(command)
    if (hasSwitchedUser) {
      processes.delete(output)
      await shared.end()
    }
    return result
  })
  lastCommand = ended.catch(() => {})
  return ended
}

/** Returns a function that runs commands in the shared process, with this folder and environment, and returns text. */
export function createCommandRunner({ cwd = process.cwd(), env = process.env } = {}) {
  return async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { stdout, ...ended } = await runInSharedProcess({ args, cwd, env: { ...env, ...more } })
    return { ...ended, stdout: String(stdout) }
  }
}
