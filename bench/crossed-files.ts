import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCopies } from './copies.ts'
import { inEmptyDirectory, run } from './measure.ts'
import type { Section } from './section.ts'

const PROCESS = new URL('crossed-files-process.ts', import.meta.url).pathname

/** How much of the house one must have read to know what happens: the files that run for one of each. */
export async function countCrossedFiles(): Promise<Section> {
  const crossed = await inEmptyDirectory(async (place) => {
    await makeCopies(join(place, 'repositories'), 2)
    await run(process.execPath, ['--disable-warning=ExperimentalWarning', PROCESS, place])
    return JSON.parse(await readFile(join(place, 'crossed.json'), 'utf8')) as Record<
      string,
      string[]
    >
  })
  return {
    title: 'Files crossed',
    notes: [
      'files of `src/` of which a function runs (V8’s coverage, the threads of the exporter not counted), by room; the process has done the same before, so what runs while modules load is not in it',
      'on SQLite and a disk, of a host with two repositories that have not changed',
    ],
    tables: [
      {
        head: ['', 'files', 'where'],
        rows: Object.entries(crossed).map(([what, files]) => [
          what,
          String(files.length),
          byRoom(files),
        ]),
      },
    ],
    targets: [],
    plots: [],
  }
}

function byRoom(files: readonly string[]): string {
  const rooms = Map.groupBy(files, (file) => file.split('/', 1)[0]!)
  return [...rooms]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([room, { length }]) => `${room} ${length}`)
    .join(', ')
}
