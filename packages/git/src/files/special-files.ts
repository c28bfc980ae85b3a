import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { forEachInTurns } from '@godwit/lib/turns'
import { decodeUtf8 } from '../refs.ts'
import { type Repository, readText } from './regular-file.ts'
import { Unsupported } from './repository-errors.ts'
import {
  type ConfigReader,
  includedPaths,
  MAX_CONFIG_BYTES,
  readConfigFile,
  type Settings,
} from './repository-settings.ts'
import { COARSE_TICK_MS, ifExistsSync, lstatIfExists } from './sync-fs.ts'

/** With this file git reads config, refs and objects from the directory that the file names. */
export const COMMON_DIR = 'commondir'
export const IS_WORKTREE = 'it is a worktree of another repository (commondir)'

const GIT_FILES = ['packed-refs', 'shallow']
const GIT_FOLDERS = ['refs', 'worktrees', 'reftable']

/**
 * Throws Unreadable if git, run on this repository, would wait for a pipe or read a device forever. Checks the repository's files, the
 * files that its config includes, and its alternate object stores. Call it before git runs on a repository of the
 * source. Links to regular files pass, whatever they point to. Its own objects are not listed if they are known to be only files and
 * directories.
 */
export async function refuseSpecialFiles(
  repository: Repository,
  reader: ConfigReader,
  { areObjectsOrdinary = false } = {},
): Promise<void> {
  await refuseSpecialConfig(repository, reader)
  for (const path of GIT_FILES) refuseSpecial(repository, toBytes(join(repository.dir, path)), path)
  for (const folder of GIT_FOLDERS) await refuseSpecialBelow(repository, folder)
  await refuseSpecialObjects(repository, { areObjectsOrdinary })
}

/** Throws Unreadable for a special file among those that `git config` reads. */
export async function refuseSpecialConfig(
  repository: Repository,
  reader: ConfigReader,
): Promise<void> {
  const { dir } = repository
  if (await lstatIfExists(join(dir, COMMON_DIR)))
    throw new Unsupported(repository.name, IS_WORKTREE)
  refuseSpecial(repository, toBytes(join(dir, 'HEAD')), 'HEAD')
  for (const name of ['config', 'config.worktree']) {
    const file = join(dir, name)
    const text = await readText(repository, name, { maxBytes: MAX_CONFIG_BYTES })
    if (text !== undefined && /include/i.test(text))
      await refuseSpecialIncludes(repository, file, await readConfigFile(file, reader), reader)
  }
}

/** Git reads a file each time it is included, so a few files can make it read billions. */
const MAX_INCLUDES = 100

/** Throws Unreadable unless all files that a config includes, directly or indirectly, are regular files of a sensible size. */
export async function refuseSpecialIncludes(
  repository: Repository,
  config: string,
  settings: Settings,
  reader: ConfigReader,
): Promise<void> {
  const configs = [{ file: config, settings }]
  for (const current of configs)
    for (const path of includedPaths(current.settings)) {
      // Git's home directory is ours, and has no such files.
      if (/^~\/(?!.*\.\.)/s.test(path)) continue
      if (/^(?:~|%\(prefix\)\/)|\uFFFD/.test(path))
        throw new Unsupported(repository.name, 'its config includes a path that cannot be resolved')
      const target = isAbsolute(path) ? path : `${dirname(current.file)}/${path}`
      const stats = statIfExists(toBytes(target))
      if (!stats) continue
      if (!stats.isFile())
        throw new Unsupported(repository.name, 'its config includes something that is not a file')
      if (stats.size > MAX_CONFIG_BYTES)
        throw new Unsupported(repository.name, 'its config includes a file that is too large')
      if (configs.length > MAX_INCLUDES)
        throw new Unsupported(repository.name, 'its config includes too many files')
      configs.push({ file: target, settings: await readConfigFile(realpathSync(target), reader) })
    }
}

/** The folders of an object store that git reads. Each may be a link. */
const OBJECT_FOLDER = /^(?:[0-9a-f]{2}|info|pack)$/
const OBJECT_SUBFOLDERS = ['info/commit-graphs', 'pack/multi-pack-index.d']
const MAX_OBJECT_STORES = 100
const MAX_ALTERNATES_BYTES = 1024 * 1024

/** Throws Unreadable for a special file in the repository's object store or in one of its alternates. */
export async function refuseSpecialObjects(
  repository: Repository,
  { areObjectsOrdinary = false } = {},
): Promise<void> {
  const objectsDirectory = join(repository.dir, 'objects')
  const stores = new Set([objectsDirectory])
  for (const store of stores) {
    const label = store === objectsDirectory ? 'objects' : 'its alternate objects'
    const path = toBytes(store)
    if (store !== objectsDirectory || !areObjectsOrdinary) {
      const names = listFolders(repository, path, label).filter((name) => OBJECT_FOLDER.test(name))
      await forEachInTurns([...names, ...OBJECT_SUBFOLDERS], (folder) =>
        listFolders(repository, `${path}/${folder}`, `${label}/${folder}`),
      )
    }
    for (const alternate of await readAlternates(repository, store, label)) stores.add(alternate)
    if (stores.size > MAX_OBJECT_STORES)
      throw new Unsupported(repository.name, 'it uses too many alternate object stores')
  }
}

/** Returns the alternates of an object store as absolute paths. */
export async function readAlternates(
  repository: Repository,
  store: string,
  label: string,
): Promise<string[]> {
  const fileLabel = `${label}/info/alternates`
  const options = { maxBytes: MAX_ALTERNATES_BYTES, label: fileLabel }
  const text = await readText({ dir: store, name: repository.name }, 'info/alternates', options)
  const lines = (text ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.length === 0) return []
  const from = realpathSync(store)
  return lines.map((line) => {
    const alternate = decodeUtf8(line.startsWith('"') ? unquote(line) : line)
    if (alternate.includes('\uFFFD'))
      throw new Unsupported(repository.name, `${fileLabel} names a path that is not UTF-8`)
    return resolve(from, alternate)
  })
}

/** The escapes of the characters from BEL (7) to CR (13). */
const CONTROL_ESCAPES = 'abtnvfr'

/** Decodes a C string, in which git quotes paths with unusual bytes. */
function unquote(line: string): string {
  return line.slice(1, line.lastIndexOf('"')).replace(/\\([0-7]{3}|.)/gs, (_, escaped: string) => {
    if (escaped.length === 3) return String.fromCharCode(Number.parseInt(escaped, 8))
    const control = CONTROL_ESCAPES.indexOf(escaped)
    return control === -1 ? escaped : String.fromCharCode(7 + control)
  })
}

/** Refuses links to directories as well: with two links to their own directory, git finds billions of refs. */
async function refuseSpecialBelow(repository: Repository, top: string): Promise<void> {
  const path = toBytes(repository.dir)
  const folders = [top]
  await forEachInTurns(folders, (folder) => {
    const names = listFolders(repository, `${path}/${folder}`, folder, { mayBeLinks: false })
    for (const name of names) folders.push(`${folder}/${name}`)
  })
}

/**
 * Caches folders without links and special files by path: each is read again only after a change. Without this cache, a clone of a few
 * thousand loose objects takes 10 % more CPU time, since each of its requests reads 256 folders.
 */
const ordinaryFolders = new Map<string, { ino: number; ctimeMs: number; folders: string[] }>()
const MAX_CACHED = 5000

/**
 * Returns the names of the folders in a folder, including links to folders; throws Unreadable for a special file in it. Paths and
 * names are byte strings.
 */
function listFolders(
  repository: Repository,
  path: string,
  label: string,
  { mayBeLinks = true } = {},
): readonly string[] {
  const stats = statIfExists(path)
  if (!stats?.isDirectory()) return []
  const { ino, ctimeMs } = stats
  const cached = ordinaryFolders.get(path)
  if (cached?.ino === ino && cached.ctimeMs === ctimeMs) return cached.folders
  const folders: string[] = []
  let hasLinks = false
  for (const entry of readEntriesIfExists(path)) {
    if (entry.isFile()) continue
    const name = entry.name.toString('latin1')
    if (!entry.isDirectory()) {
      hasLinks = true
      const entryLabel = `${label}/${decodeUtf8(name)}`
      const target = refuseSpecial(repository, `${path}/${name}`, entryLabel)
      if (!target?.isDirectory()) continue
      if (!mayBeLinks)
        throw new Unsupported(repository.name, `${entryLabel} is a link to a directory`)
    }
    folders.push(name)
  }
  if (!hasLinks && ctimeMs < Date.now() - COARSE_TICK_MS) {
    if (ordinaryFolders.size >= MAX_CACHED) ordinaryFolders.clear()
    ordinaryFolders.set(path, { ino, ctimeMs, folders })
  }
  return folders
}

/** Follows links. A broken link passes: git reports it. */
function refuseSpecial(repository: Repository, path: string, label: string): Stats | undefined {
  const stats = statIfExists(path)
  if (stats && !stats.isFile() && !stats.isDirectory())
    throw new Unsupported(repository.name, `${label} is neither a file nor a directory`)
  return stats
}

/** Paths that are not UTF-8 are byte strings (latin1). */
const toBytes = (path: string): string => Buffer.from(path).toString('latin1')

const statIfExists = (path: string): Stats | undefined =>
  ifExistsSync(() => statSync(Buffer.from(path, 'latin1'), { throwIfNoEntry: false }), 'ELOOP')

/** Folders of loose objects disappear when the objects are packed. */
function readEntriesIfExists(path: string): Dirent<Buffer>[] {
  const options = { withFileTypes: true, encoding: 'buffer' } as const
  return ifExistsSync(() => readdirSync(Buffer.from(path, 'latin1'), options), 'ENOENT') ?? []
}
