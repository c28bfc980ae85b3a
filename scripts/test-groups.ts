import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Called by scripts/test for a whole run: divides the test files into groups, writes a file for each group and prints its path.
 * The test runner starts a process for each of these. A process for every test file would spend more time loading code than
 * running tests.
 */
const FOLDER = 'var/test-groups'
/** The tests in a browser share one browser, the wire tests one server. */
const OWN_GROUPS = ['dashboard', 'wire']
const OTHERS = ['src/**/*.test.ts', 'test/*.test.ts', 'test/stories/*.test.ts']
const SHARDS = 8

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
for (const name of OWN_GROUPS) writeGroup(name, globSync(`test/${name}/*.test.ts`).sort())
// Every eighth file: files of one folder, which take about equally long, are spread over all groups.
const others = globSync(OTHERS).sort()
for (let shard = 0; shard < SHARDS; shard++)
  writeGroup(
    `shard-${shard + 1}`,
    others.filter((_, index) => index % SHARDS === shard),
  )

function writeGroup(name: string, files: readonly string[]): void {
  const group = `${FOLDER}/${name}.test.ts`
  const list = files.map((file) => `  new URL('../../${file}', import.meta.url).pathname,\n`)
  const run = `import { runTestFiles } from '../../test/support/test-group.ts'\n\nrunTestFiles([\n`
  writeFileSync(group, `${run}${list.join('')}])\n`)
  console.log(group)
}
