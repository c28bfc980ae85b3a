import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { inTime, until } from './wait-until.ts'

export interface Typist {
  /** Types, and waits until this is shown after it. */
  type(keys: string, shown: RegExp): Promise<string>
}

/** A shell at a terminal of its own, and somebody who types there. */
export function shellAtTerminal(
  t: Pick<TestContext, 'after'>,
  shell: string,
  { cwd, env = {} }: { cwd: string; env?: Readonly<Record<string, string>> },
): Typist {
  const child = spawn('script', ['-qefc', `stty cols 120 rows 50; exec ${shell}`, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'dumb', PS1: '> ', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGHUP')
    await inTime(`${shell} ends with its terminal`, ended)
  })
  return {
    async type(keys, expected) {
      const before = shown.length
      child.stdin.write(keys)
      const since = () => shown.slice(before)
      await until(
        () => `${JSON.stringify(keys)} brings ${expected}: ${JSON.stringify(since())}`,
        async () => expected.test(since()),
      )
      return since()
    },
  }
}
