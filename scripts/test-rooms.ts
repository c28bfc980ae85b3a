import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'

/**
 * Called by scripts/test: prints the files that the runner is given for a whole run. It starts a process for each, and to start
 * one and load the code takes longer than most test files run; so the tests of one room share a process, and with it the
 * browser, the server of the wire tests and the process of commands.
 */
const ROOMS = 'var/rooms'
const TESTS = [
  'src/**/*.test.ts',
  'test/*.test.ts',
  'test/{dashboard,stories,support,wire}/*.test.ts',
]

/** A folder of src or test with all below it; of the stories, those whose names begin with the same letter. */
function roomOf(file: string): string {
  const [top, folder = '', name = ''] = file.split('/')
  if (folder.endsWith('.test.ts')) return top!
  return `${top}-${folder}${folder === 'stories' ? `-${name[0]}` : ''}`
}

const sizeOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + statSync(file).size, 0)

// The largest come first, so that no long one is begun when the others have ended; the runner sorts by name.
const rooms = [...Map.groupBy(globSync(TESTS).sort(), roomOf)]
rooms.sort(([, a], [, b]) => sizeOf(b) - sizeOf(a))
rmSync(ROOMS, { recursive: true, force: true })
mkdirSync(ROOMS, { recursive: true })
for (const [at, [name, files]] of rooms.entries()) {
  const room = `${ROOMS}/${String(at).padStart(2, '0')}-${name}.test.ts`
  const list = files.map((file) => `  new URL('../../${file}', import.meta.url).pathname,\n`)
  const text = `import { room } from '../../test/support/room.ts'\n\nroom([\n${list.join('')}])\n`
  writeFileSync(room, text)
  console.log(room)
}
