import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  COMMAND,
  estimateSeconds,
  formatSeconds,
  GROUPS,
  IS_LONG,
  usualSeconds,
} from '../test/support/file-seconds.ts'

// Called by scripts/test for a whole run of `npm test` or `npm run test:long`: divides the test files into groups, writes a file for each
// group and prints its path. The test runner starts a process for each of these. A process for every test file would spend more time
// loading code than running tests.

/** The tests in a browser share one browser, the wire tests one server. */
const OWN_GROUPS = IS_LONG ? [] : ['dashboard', 'wire']
const OTHERS = IS_LONG
  ? ['test/long/*.test.ts', 'test/fire/*.test.ts']
  : ['src/**/*.test.ts', 'test/*.test.ts', 'test/stories/*.test.ts']
const SHARDS = 10

interface Group {
  name: string
  files: string[]
  seconds: number
}

const secondsOf = usualSeconds()
const groups = [
  ...OWN_GROUPS.map((name) => groupOf(name, globSync(`test/${name}/*.test.ts`).sort())),
  ...shards(globSync(OTHERS).sort()),
]
rmSync(GROUPS, { recursive: true, force: true })
mkdirSync(GROUPS, { recursive: true })
// The longest first, so that none is left alone at the end. The test runner sorts the files by name.
for (const [index, group] of groups.sort((a, b) => b.seconds - a.seconds).entries())
  writeGroup(String(index + 1).padStart(2, '0'), group)
const files = groups.flatMap((group) => group.files)
console.error(`${COMMAND}: about ${formatSeconds(await estimateSeconds(files))} on this machine`)

function groupOf(name: string, files: string[]): Group {
  return { name, files, seconds: files.reduce((sum, file) => sum + secondsOf(file), 0) }
}

/**
 * Divides the sorted files into groups that take about equally long. Files of one folder are together, because they load the same
 * code: each process then loads less, and a process with less memory starts others, such as git, in less time.
 */
function shards(files: readonly string[]): Group[] {
  const shards = Array.from({ length: SHARDS }, (_, n) => groupOf(`shard-${n + 1}`, []))
  const share = groupOf('all', [...files]).seconds / SHARDS
  let before = 0
  for (const file of files) {
    const seconds = secondsOf(file)
    const shard = shards[Math.min(SHARDS - 1, Math.floor((before + seconds / 2) / share))]!
    shard.files.push(file)
    shard.seconds += seconds
    before += seconds
  }
  return shards
}

function writeGroup(number: string, { name, files }: Group): void {
  const path = join(GROUPS, `${number}-${name}.test.ts`)
  const list = files.map((file) => `  new URL('../../${file}', import.meta.url).pathname,\n`)
  const run = `import { runTestFiles } from '../../test/support/test-group.ts'\n\nrunTestFiles([\n`
  writeFileSync(path, `${run}${list.join('')}])\n`)
  console.log(path)
}
