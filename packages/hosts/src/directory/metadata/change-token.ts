import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { readText } from '@godwit/git/files/regular-file'
import { COARSE_TICK_MS, type FileStats, statExisting, walkStats } from '@godwit/git/files/sync-fs'
import { forEachInTurns } from '@godwit/lib/turns'

/**
 * The files of every repository that metadata is read from or that a repack changes. The first is the repository itself: its times
 * change when a file is created or removed in it.
 */
const WATCHED = ['', 'HEAD', 'config', 'objects', 'objects/info/alternates', 'objects/pack', 'refs']
/** Further such files, besides loose refs. */
const ALSO_WATCHED = [
  ...['description', 'git-daemon-export-ok'],
  ...['packed-refs', 'reftable', 'reftable/tables.list'],
]

/** Increase it when more or other metadata is read from the same files: then every repository is read again, once. */
const METADATA_VERSION = 3

/** Longer than a tick of the clock from which file systems take timestamps. */
const CLOCK_TICK_MS = 20

/**
 * The maximum number of files and directories in a change token. In that of an export, up to 256 of them are directories of loose objects.
 */
const MAX_LISTED = 800
/** The maximum number of characters of the list, because the change tokens of all repositories are in memory during a sync. */
const MAX_LIST_LENGTH = 12_000
const LISTABLE = /^[^\s:~]+$/

/**
 * Returns a string without spaces that changes with every push, edit, repack or gc of the repository. Directories of
 * loose objects are left out: a push also changes a ref, so only the size can be out of date, by objects without a ref. Needs only lstat
 * and readdir calls. A file that was just written can be written again without a new timestamp, so this waits until the clock has ticked.
 * After the digest, it lists the files and directories that exist besides WATCHED, so that `isCurrent` need not look for them.
 */
export async function changeTokenOf(dir: string): Promise<string> {
  let read = await readWatched(dir)
  if (read.isRecent) {
    await sleep(CLOCK_TICK_MS)
    read = await readWatched(dir)
  }
  return listedChangeToken(dir, read, Date.now()) ?? digestOf(dir, read.files)
}

const NOT_EXPORTED = ['hooks', 'logs']

/**
 * Returns a change token for `isCurrent` that changes with everything in the repository that an export reads. Of loose objects it has only
 * the directories, which change when an object is added or removed. Returns undefined if the repository has just changed, has many
 * other files, or may depend on files elsewhere.
 */
export async function exportChangeTokenOf(dir: string): Promise<string | undefined> {
  const now = Date.now()
  const config = await readText({ dir, name: dir }, 'config')
  // These settings can name files outside the repository.
  if (config === undefined || /include|storage/i.test(config)) return undefined
  const others: FileStats[] = []
  const isEntered = (path: string) => {
    const name = nameIn(dir, { path })
    return !NOT_EXPORTED.includes(name) && !/^objects\/[0-9a-f]{2}$/.test(name)
  }
  for (const file of walkStats(dir, isEntered)) {
    const name = nameIn(dir, file)
    if (NOT_EXPORTED.includes(name)) continue
    if (file.stats.isSymbolicLink() || name === 'objects/info/alternates') return undefined
    if (others.length > MAX_LISTED) return undefined
    if (!WATCHED.includes(name)) others.push(file)
  }
  return listedChangeToken(dir, { files: [...statExisting(dir, WATCHED), ...others], others }, now)
}

function listedChangeToken(
  dir: string,
  { files, others }: { files: readonly FileStats[]; others: readonly FileStats[] },
  now: number,
): string | undefined {
  const names = others.map((file) => nameIn(dir, file))
  // `~ab` in the list stands for `:objects/ab`. A repository can have 256 such directories.
  const list = `:${names.join(':')}`.replaceAll(/:objects\/([0-9a-f]{2})(?=:|$)/g, '~$1')
  const isListed =
    list.length <= MAX_LIST_LENGTH &&
    LISTABLE.test(names.join('')) &&
    !isChangedSince(
      files.filter((file) => isMutable(dir, file)),
      now - COARSE_TICK_MS,
    )
  return isListed ? digestOf(dir, files) + list : undefined
}

const nameIn = (dir: string, { path }: Pick<FileStats, 'path'>): string =>
  path.slice(dir.length + 1)

/** The name of an object file determines its content. Its change time also changes when a snapshot links to it. */
const isMutable = (dir: string, file: FileStats): boolean =>
  !/^(?:objects\/(?:pack|[0-9a-f]{2})|lfs\/objects)\//.test(nameIn(dir, file)) ||
  file.stats.isDirectory()

/**
 * Whether the repository still has this change token. Blocks for one lstat call for each file and directory, at most 2 ms if they are in
 * the kernel's cache: nothing was created or removed in directories whose times are the same. Returns false for a change token without a
 * list.
 */
export function isCurrent(dir: string, changeToken: string): boolean {
  const [digest, ...names] = changeToken.replaceAll('~', ':objects/').split(':')
  return names.length > 0 && digest === digestOf(dir, statExisting(dir, [...WATCHED, ...names]))
}

function digestOf(dir: string, files: readonly FileStats[]): string {
  let text = `${METADATA_VERSION}`
  for (const file of files) {
    const { mtimeNs, ctimeNs, size, ino } = file.stats
    const changed = isMutable(dir, file) ? ctimeNs : ''
    text += `\n${nameIn(dir, file)} ${mtimeNs} ${changed} ${size} ${ino}`
  }
  return hash('sha256', text, 'base64url')
}

async function readWatched(dir: string) {
  const lastTick = Date.now() - CLOCK_TICK_MS
  const others = statExisting(dir, ALSO_WATCHED)
  await forEachInTurns(walkStats(`${dir}/refs`), (file) => others.push(file))
  const watched = statExisting(dir, WATCHED)
  const files = [...watched, ...others]
  return { files, others, isRecent: isChangedSince(files, lastTick) }
}

const isChangedSince = (files: readonly FileStats[], time: number) =>
  files.some(({ stats }) => Number(stats.ctimeMs) > time)
