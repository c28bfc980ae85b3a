import { existsSync, globSync, readFileSync } from 'node:fs'
import { COMMAND, formatSeconds, GROUPS, recordSeconds, usualSeconds } from './file-seconds.ts'

/**
 * The file to which the groups of a whole run append a line for each test file that has ended (test-group.ts). The test runner
 * reports the groups one after the other, so its events do not show how far they are.
 */
const ENDED = process.env.GODWIT_TEST_PROGRESS
const INTERVAL_MS = 20_000

/** Writes the progress of a whole run to standard error. Returns a function for the end of the run. */
export function followRun(): (hasPassed: boolean) => string | undefined {
  if (ENDED === undefined) return () => undefined
  const [start, ended] = [performance.now(), ENDED]
  const elapsed = () => (performance.now() - start) / 1000
  const secondsOf = usualSeconds()
  const files = filesOfGroups()
  const sum = (some: readonly string[]) => some.reduce((total, file) => total + secondsOf(file), 0)
  const timer = setInterval(() => {
    const done = Object.keys(readEnded(ended))
    const left = elapsed() * (sum(files) / sum(done) - 1)
    const guess = done.length > 0 ? `, about ${formatSeconds(left)} left` : ''
    process.stderr.write(
      `${done.length} of ${files.length} files after ${formatSeconds(elapsed())}${guess}\n`,
    )
  }, INTERVAL_MS).unref()
  return (hasPassed) => {
    clearInterval(timer)
    const seconds = elapsed()
    const taken = readEnded(ended)
    // The next run is estimated from these times.
    if (hasPassed && Object.keys(taken).length === files.length) recordSeconds(taken)
    return `${COMMAND} took ${formatSeconds(seconds)}`
  }
}

function readEnded(path: string): Record<string, number> {
  if (!existsSync(path)) return {}
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return Object.fromEntries(
    lines.map((line) => {
      const [seconds, file] = line.split(' ')
      return [file!, Number(seconds)]
    }),
  )
}

/** Returns the files of all groups (scripts/test-groups.ts). */
function filesOfGroups(): string[] {
  return globSync(`${GROUPS}/*.test.ts`).flatMap((group) =>
    [...readFileSync(group, 'utf8').matchAll(/'\.\.\/\.\.\/([^']+\.test\.ts)'/g)].map(
      ([, file]) => file!,
    ),
  )
}
