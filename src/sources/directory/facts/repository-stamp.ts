import { hash } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inTurns, namesIn, type Seen, statsBelow, statsOf } from '../files/sync-fs.ts'

/** Of a repository, and of its wiki; null when it has none. */
export interface Directories {
  dir: string
  wikiDir: string | null
}

/** Besides loose refs and the directories of loose objects: all that facts are read from, and what a repack touches. */
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

/** Raise it when more is read out of the same files: then every repository is read again, once. */
const FACTS_EDITION = 2

/** File systems stamp files by a clock that ticks every few milliseconds. */
const TICKS_PASSED_MS = 20

/**
 * Differs whenever a push, an edit, a repack or a gc has changed the repository, and is made by lstat alone. A file that
 * was written this very instant could be written again without its times telling, so that instant is waited out.
 */
export async function stampOf({ dir, wikiDir }: Directories): Promise<string> {
  let seen = await watched(dir)
  if (newestOf(seen) > Date.now() - TICKS_PASSED_MS) {
    await pause(TICKS_PASSED_MS)
    seen = await watched(dir)
  }
  let text = `${FACTS_EDITION} ${wikiDir === null ? 'no wiki' : 'wiki'}`
  for (const { path, stats } of seen) {
    const { mtimeNs, ctimeNs, size, ino } = stats
    text += `\n${path.slice(dir.length)} ${mtimeNs} ${ctimeNs} ${size} ${ino}`
  }
  return hash('sha256', text, 'base64url')
}

async function watched(dir: string): Promise<Seen[]> {
  const fanOut = (await namesIn(join(dir, 'objects'))).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const named = [...WATCHED, ...fanOut.sort().map((name) => `objects/${name}`)]
  const refs: Seen[] = []
  await inTurns(statsBelow(join(dir, 'refs')), (seen) => refs.push(seen))
  return [...(await statsOf(named.map((name) => join(dir, name)))), ...refs]
}

function newestOf(seen: readonly Seen[]): number {
  return seen.reduce((newest, { stats }) => Math.max(newest, Number(stats.ctimeMs)), 0)
}
