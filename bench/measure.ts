import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { maxBuffer: 64 * 1024 * 1024 })
  return stdout.trimEnd()
}

/** Runs a shell script with the arguments `$1`, `$2`, … and stops at its first failure. */
export function shell(script: string, ...args: string[]): Promise<string> {
  return run('sh', ['-euc', script, 'sh', ...args])
}

export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Returns whether the program is installed. */
export async function has(program: string): Promise<boolean> {
  return shell('command -v "$1"', program).then(
    () => true,
    () => false,
  )
}

/** Runs `act` for every item once a round, in reverse order every other round, so that no item always comes first. */
export async function inTurns<T>(
  rounds: number,
  work: readonly T[],
  act: (item: T, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const item of round % 2 === 1 ? work : work.toReversed()) await act(item, round)
  }
}

/** Runs `act` with an empty directory that is removed afterwards. */
export async function inEmptyDirectory<T>(act: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
  try {
    return await act(dir)
  } finally {
    // Node's own function takes 1.4 GB of memory for a million files.
    await run('rm', ['-rf', dir])
  }
}

export const spread = (values: readonly number[], show: (value: number) => string): string =>
  `${show(Math.min(...values))} – ${show(Math.max(...values))}`
