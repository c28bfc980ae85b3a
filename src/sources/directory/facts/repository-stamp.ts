import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { COARSE_TICK_MS } from '../files/read-refs.ts'
import {
  type FileStats,
  forEachYielding,
  readNames,
  statExisting,
  syncFs,
  walkStats,
} from '../files/sync-fs.ts'

/**
 * The files of every repository that facts are read from or that a repack changes. The first is the repository itself: its times
 * change when a file is created or removed in it.
 */
const WATCHED = ['', 'HEAD', 'config', 'objects', 'objects/info/alternates', 'objects/pack', 'refs']
/** Further such files, besides loose refs and the directories of loose objects. */
const SETTINGS = ['description', 'git-daemon-export-ok']
const REFS = ['packed-refs', 'reftable', 'reftable/tables.list']

/** Increase it when more facts are read from the same files: then every repository is read again, once. */
const FACTS_VERSION = 2

/** Longer than a tick of the clock from which file systems take timestamps. */
const CLOCK_TICK_MS = 20

const MAX_LISTED = 50
const LISTABLE = /^[^\s:]+$/

/**
 * Returns a string without spaces that changes with every push, edit, repack or gc of the repository. Needs only lstat and readdir
 * calls. A file that was just written can be written again without a new timestamp, so this waits until the clock has ticked. After
 * the digest, it lists the files and directories that exist besides WATCHED, so that `isCurrent` need not look for them.
 */
export async function stampOf(dir: string): Promise<string> {
  let read = await readWatched(dir)
  if (read.isRecent) {
    await pause(CLOCK_TICK_MS)
    read = await readWatched(dir)
  }
  const digest = digestOf(dir, read.files)
  const names = read.others.map(({ path }) => path.slice(dir.length + 1))
  const isOld = !isChangedSince(read.files, Date.now() - COARSE_TICK_MS)
  const isListed = isOld && names.length <= MAX_LISTED && LISTABLE.test(names.join(''))
  return isListed ? [digest, ...names].join(':') : digest
}

/**
 * Whether the repository still has this stamp. Needs one lstat call for each file and directory: nothing was created or removed in
 * directories whose times are the same. Returns false for a stamp without a list.
 */
export const isCurrent = syncFs((dir: string, stamp: string): boolean => {
  const [digest, ...names] = stamp.split(':')
  return names.length > 0 && digest === digestOf(dir, statExisting(dir, [...WATCHED, ...names]))
})

function digestOf(dir: string, files: readonly FileStats[]): string {
  let text = `${FACTS_VERSION}`
  for (const { path, stats } of files) {
    const { mtimeNs, ctimeNs, size, ino } = stats
    text += `\n${path.slice(dir.length)} ${mtimeNs} ${ctimeNs} ${size} ${ino}`
  }
  return hash('sha256', text, 'base64url')
}

async function readWatched(dir: string) {
  const lastTick = Date.now() - CLOCK_TICK_MS
  const names = await readNames(`${dir}/objects`)
  const looseFolders = names.filter((name) => /^[0-9a-f]{2}$/.test(name)).sort()
  const loose = looseFolders.map((name) => `objects/${name}`)
  const others = statExisting(dir, [...SETTINGS, ...REFS, ...loose])
  await forEachYielding(walkStats(`${dir}/refs`), (file) => others.push(file))
  const watched = statExisting(dir, WATCHED)
  const files = [...watched, ...others]
  return { files, others, isRecent: isChangedSince(files, lastTick) }
}

const isChangedSince = (files: readonly FileStats[], time: number) =>
  files.some(({ stats }) => Number(stats.ctimeMs) > time)
