import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { skipUnless } from './skip-unless.ts'
import { until, withTimeout } from './wait-until.ts'

const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' })
const isInstalled = stdout?.includes('util-linux') ?? false

/** Options for tests at a terminal. */
export const needsTerminal = skipUnless(isInstalled, "util-linux's script is not installed")

/** Runs a shell command at its own terminal, and returns its exit code and what it displayed. */
export function atTerminal(
  line: string,
  options: { cwd: string; env: Readonly<Record<string, string>>; columns?: number },
): Promise<{ code: number | null; shown: string }> {
  // Node turns colours off when CI is set; the test needs the output that a person sees.
  const { CI, NO_COLOR, FORCE_COLOR, ...inherited } = process.env
  const { cwd, columns = 70 } = options
  const args = ['-qec', `stty cols ${columns} rows 24; ${line}`, '/dev/null']
  const env = { ...inherited, TERM: 'xterm-256color', ...options.env }
  return new Promise((resolve) => {
    const child = execFile('script', args, { cwd, env }, (_error, shown) =>
      resolve({ code: child.exitCode, shown }),
    )
    child.stdin?.end()
  })
}

const COMMANDS = new URL('terminal-commands-process.ts', import.meta.url).pathname

/**
 * Runs `godwit` commands, one after the other, in one process at its own terminal, because starting a process takes longer than most
 * commands. Returns the exit code of each and what it displayed.
 */
export async function godwitAtTerminal(
  commands: readonly (readonly string[])[],
  options: Parameters<typeof atTerminal>[1],
): Promise<{ code: number; shown: string }[]> {
  const env = { ...options.env, GODWIT_TEST_COMMANDS: JSON.stringify(commands) }
  const line = `exec "${process.execPath}" "${COMMANDS}" "$GODWIT_TEST_COMMANDS"`
  const { code, shown } = await atTerminal(line, { ...options, env })
  assert.equal(code, 0, shown)
  const ended = [...shown.matchAll(/([^\0]*)\0(\d+)\r?\n/g)]
  assert.equal(ended.length, commands.length, shown)
  return ended.map(([, shown = '', code]) => ({ code: Number(code), shown }))
}

interface Typist {
  /** Types the keys and waits until the output matches. */
  type(keys: string, shown: RegExp): Promise<string>
  /** Waits for the end of the command, and returns its exit code and all that it displayed. */
  ended(): Promise<{ code: number | null; shown: string }>
}

/** Starts a command at its own terminal. */
export function typeAtTerminal(
  t: Pick<TestContext, 'after'>,
  command: string,
  { cwd, env = {} }: { cwd: string; env?: Readonly<Record<string, string>> },
): Typist {
  const child = spawn('script', ['-qefc', `stty cols 120 rows 50; exec ${command}`, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'dumb', PS1: '> ', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGHUP')
    await withTimeout(`${command} ends with its terminal`, exited)
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
    async ended() {
      await withTimeout(() => `${command} ends: ${shown}`, exited)
      return { code: child.exitCode, shown }
    },
  }
}
