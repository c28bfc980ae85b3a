import { hash } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type FileStats,
  forEachYielding,
  readNames,
  statExisting,
  walkStats,
} from '../files/sync-fs.ts'

/** The directories of a repository and of its wiki; null if it has no wiki. */
export interface Directories {
  dir: string
  wikiDir: string | null
}

/** All files that facts are read from or that a repack changes, besides loose refs and the directories of loose objects. */
const WATCHED = [
  'HEAD',
  'config',
  'description',
  'git-daemon-export-ok',
  'objects',
  'objects/info/alternates',
  'objects/pack',
  'packed-refs',
  'reftable/tables.list',
]

/** Increase it when more facts are read from the same files: then every repository is read again, once. */
const FACTS_VERSION = 2

/** Longer than a tick of the clock from which file systems take timestamps. */
const CLOCK_TICK_MS = 20

/**
 * Returns a string that changes with every push, edit, repack or gc of the repository. Needs only lstat and readdir calls. A file that
 * was just written can be written again without a new timestamp, so this waits until the clock has ticked.
 */
export async function stampOf({ dir, wikiDir }: Directories): Promise<string> {
  let files = await readWatched(dir)
  const lastTick = Date.now() - CLOCK_TICK_MS
  if (files.some(({ stats }) => Number(stats.ctimeMs) > lastTick)) {
    await pause(CLOCK_TICK_MS)
    files = await readWatched(dir)
  }
  let text = `${FACTS_VERSION} ${wikiDir === null ? 'no wiki' : 'wiki'}`
  for (const { path, stats } of files) {
    const { mtimeNs, ctimeNs, size, ino } = stats
    text += `\n${path.slice(dir.length)} ${mtimeNs} ${ctimeNs} ${size} ${ino}`
  }
  return hash('sha256', text, 'base64url')
}

async function readWatched(dir: string): Promise<FileStats[]> {
  const names = await readNames(join(dir, 'objects'))
  const looseFolders = names.filter((name) => /^[0-9a-f]{2}$/.test(name)).sort()
  const watched = [...WATCHED, ...looseFolders.map((name) => `objects/${name}`)]
  const refs: FileStats[] = []
  await forEachYielding(walkStats(join(dir, 'refs')), (file) => refs.push(file))
  return [...(await statExisting(watched.map((name) => join(dir, name)))), ...refs]
}
