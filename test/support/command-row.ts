import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { inTime } from './wait-until.ts'

const PROCESS = new URL('command-row-process.ts', import.meta.url)

export interface Command {
  args: string[]
  env: Record<string, string>
}

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/**
 * For tests of many commands whose output alone matters: one process for all of them, since starting it takes longer than
 * any of them. One at a time.
 */
export function commandRow(
  t: Pick<TestContext, 'after'>,
  where: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  // Pipes, so that no command takes a terminal for its own that the tests are run at. Without the runner's own flags: they
  // name files from where the tests are run, and make of the environment what a test file needs.
  const child = fork(PROCESS, {
    ...where,
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.stdout?.pipe(process.stderr)
  child.stderr?.pipe(process.stderr)
  const exited = once(child, 'exit')
  t.after(async () => {
    // A command that leaves something running would keep its own process from ending, and so this one.
    child.disconnect()
    const [code] = await inTime('the process of the commands ends by itself', exited)
    assert.equal(code, 0)
  })
  return async (args: string[], env: Record<string, string> = {}): Promise<Ended> => {
    const ended = once(child, 'message')
    child.send({ args, env } satisfies Command)
    const died = exited.then(([code]) => assert.fail(`the process of the commands ended: ${code}`))
    const [told] = await inTime(`godwit ${args.join(' ')} ends`, Promise.race([ended, died]))
    return told as Ended
  }
}
