import { execFile, spawnSync } from 'node:child_process'
import { skipUnless } from './skip-unless.ts'

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
