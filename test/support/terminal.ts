import { execFile, spawnSync } from 'node:child_process'

const isInstalled = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes(
  'util-linux',
)

/** For tests on a terminal: where util-linux is absent they are skipped by name, except in CI, where they fail. */
export const needsTerminal: { skip: string | false } = {
  skip: !isInstalled && process.env.CI !== 'true' && "util-linux's script is not installed",
}

/** Runs a line of shell at a terminal of its own; what it showed there, and how it ended. */
export function atTerminal(
  line: string,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<{ code: number | null; shown: string }> {
  // Node takes CI for a place without colours, and what is shown here is what a person sees.
  const { CI, NO_COLOR, FORCE_COLOR, ...inherited } = process.env
  const args = ['-qec', `stty cols 70 rows 24; ${line}`, '/dev/null']
  const options = { cwd, env: { ...inherited, TERM: 'xterm-256color', ...env } }
  return new Promise((resolve) => {
    const child = execFile('script', args, options, (_error, shown) =>
      resolve({ code: child.exitCode, shown }),
    )
    child.stdin?.end()
  })
}
