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
const OWN_GROUPS = IS_LONG ? [] : ['packages/dashboard/test', 'test/wire']
const OTHERS = IS_LONG
  ? ['test/long/*.test.ts', 'test/fire/*.test.ts']
  : ['packages/*/src/**/*.test.ts', 'test/*.test.ts', 'test/stories/*.test.ts']
const SHARDS = IS_LONG ? 24 : 10

interface Group {
  name: string
  files: string[]
  seconds: number
}

const secondsOf = usualSeconds()
const groups = [
  ...OWN_GROUPS.map((folder) =>
    groupOf(folder.replaceAll('/', '-'), globSync(`${folder}/*.test.ts`).sort()),
  ),
  ...(IS_LONG ? evenGroups : shards)(globSync(OTHERS).sort()),
]
rmSync(GROUPS, { recursive: true, force: true })
mkdirSync(GROUPS, { recursive: true })
// The longest first, so that none is left alone at the end. The test runner sorts the files by name.
for (const [index, group] of groups.sort((a, b) => b.seconds - a.seconds).entries())
  writeGroup(String(index + 1).padStart(2, '0'), group)
const files = groups.flatMap((group) => group.files)
console.error(`${COMMAND}: about ${formatSeconds(await estimateSeconds(files))} on this machine`)

function emptyGroups(): Group[] {
  return Array.from({ length: SHARDS }, (_, n) => groupOf(`shard-${n + 1}`, []))
}

function groupOf(name: string, files: string[]): Group {
  return { name, files, seconds: files.reduce((sum, file) => sum + secondsOf(file), 0) }
}

/**
 * Divides the sorted files into groups that take about equally long. Files of one folder are together, because they load the same
 * code: each process then loads less, and a process with less memory starts others, such as git, in less time.
 */
function shards(files: readonly string[]): Group[] {
  const shards = emptyGroups()
  const share = groupOf('all', [...files]).seconds / SHARDS
  let before = 0
  for (const file of files) {
    const seconds = secondsOf(file)
    add(shards[Math.min(SHARDS - 1, Math.floor((before + seconds / 2) / share))]!, file)
    before += seconds
  }
  return shards
}

/**
 * Adds each file, the longest first, to the group that takes least, so that the longest have a group of their own. Most of these
 * files start processes of their own, so it does not matter which are together.
 */
function evenGroups(files: readonly string[]): Group[] {
  const groups = emptyGroups()
  for (const file of files.toSorted((a, b) => secondsOf(b) - secondsOf(a)))
    add(
      groups.reduce((least, each) => (each.seconds < least.seconds ? each : least)),
      file,
    )
  return groups
}

function add(group: Group, file: string): void {
  group.files.push(file)
  group.seconds += secondsOf(file)
}

function writeGroup(number: string, { name, files }: Group): void {
  const path = join(GROUPS, `${number}-${name}.test.ts`)
  const list = files.map((file) => `  new URL('../../${file}', import.meta.url).pathname,\n`)
  const run = `import { runTestFiles } from '../../test/support/test-group.ts'\n\nrunTestFiles([\n`
  writeFileSync(path, `${run}${list.join('')}])\n`)
  console.log(path)
}
