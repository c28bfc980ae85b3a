import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { inTime } from './patience.ts'

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
export function commandRow(t: Pick<TestContext, 'after'>) {
  const child = fork(PROCESS, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  t.after(() => child.kill('SIGKILL'))
  return async (args: string[], env: Record<string, string> = {}): Promise<Ended> => {
    const ended = once(child, 'message')
    child.send({ args, env } satisfies Command)
    const [told] = await inTime(`godwit ${args.join(' ')} ends`, ended)
    return told as Ended
  }
}
