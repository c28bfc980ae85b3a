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

/** Stories have rooms by the first letter of their names, up to each of these: a few, of about the same length. */
const LAST_LETTERS = ['e', 'r', 'z']

/** A folder of src or test with all below it; of the stories, those of a few letters. */
function roomOf(file: string): string {
  const [top, folder = '', name = ''] = file.split('/')
  if (folder.endsWith('.test.ts')) return top!
  if (folder !== 'stories') return `${top}-${folder}`
  return `${top}-stories-to-${LAST_LETTERS.find((letter) => name[0]! <= letter)}`
}

/** For what processes and browsers do, these take longer than others of their size. */
const SLOW = { 'test/stories/': 3, 'test/dashboard/': 8 }

const lengthOf = (file: string): number =>
  statSync(file).size * (Object.entries(SLOW).find(([folder]) => file.startsWith(folder))?.[1] ?? 1)

const sumOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + lengthOf(file), 0)

type Room = [name: string, files: string[]]

/** Rooms that are smaller share a process with their neighbours, up to a size: much of what they load is the same. */
const SMALL = 90_000
const LARGEST_SHARED = 160_000

function withNeighbours(rooms: readonly Room[]): Room[] {
  const isSmall = ([, files]: Room) => sumOf(files) < SMALL
  const shared: Room[] = []
  for (const [name, files] of rooms.filter(isSmall)) {
    const last = shared.at(-1)
    if (last && sumOf([...last[1], ...files]) <= LARGEST_SHARED) last[1].push(...files)
    else shared.push([`${name}-and-others`, [...files]])
  }
  return [...rooms.filter((room) => !isSmall(room)), ...shared]
}

// The longest come first, so that no long one is begun when the others have ended; the runner sorts by name.
const rooms = withNeighbours([...Map.groupBy(globSync(TESTS).sort(), roomOf)])
rooms.sort(([, a], [, b]) => sumOf(b) - sumOf(a))
rmSync(ROOMS, { recursive: true, force: true })
mkdirSync(ROOMS, { recursive: true })
for (const [at, [name, files]] of rooms.entries()) {
  const room = `${ROOMS}/${String(at).padStart(2, '0')}-${name}.test.ts`
  const list = files.map((file) => `  new URL('../../${file}', import.meta.url).pathname,\n`)
  const text = `import { room } from '../../test/support/room.ts'\n\nroom([\n${list.join('')}])\n`
  writeFileSync(room, text)
  console.log(room)
}
