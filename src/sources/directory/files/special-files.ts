import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { hasCode, ifExists } from '../../../lib/errno.ts'
import { readable } from '../../refs.ts'
import { Unreadable } from '../../unreadable.ts'
import { readOwnFile } from './own-file.ts'
import { Unsupported } from './repository-errors.ts'
import {
  type ConfigReader,
  includedPaths,
  LARGEST_CONFIG,
  readSettingsIn,
  type Settings,
} from './repository-settings.ts'
import { inTurns, lstatIfThere, type Seen } from './sync-fs.ts'

/** A repository of the source; with its name where that is to be part of a refusal. */
interface At {
  dir: string
  name?: string
}

/** With such a file git takes config, refs and objects from wherever it says. */
export const COMMON_DIR = 'commondir'
export const OF_ANOTHER = 'it is a worktree of another repository (commondir)'

export const FILES_OF_GIT = ['HEAD', 'config', 'config.worktree', 'packed-refs', 'shallow']
export const FOLDERS_OF_GIT = ['refs', 'worktrees', 'reftable']

/**
 * Throws where git, opened on this repository of the source, would wait for a pipe or read a device without end: in its files,
 * in what its config includes, and in the object stores that it borrows from. Links to ordinary files are not looked at here.
 */
export async function refuseSpecialFiles(at: At, reader: ConfigReader): Promise<void> {
  await refuseSpecialConfig(at, reader)
  await inTurns(FILES_OF_GIT, (path) => refuseSpecial(at, inBytes(join(at.dir, path)), path))
  for (const folder of FOLDERS_OF_GIT) await refuseSpecialBelow(at, folder)
  await refuseSpecialObjects(at)
}

/** Does the same for one that was seen already, and costs nothing where it is an ordinary file. */
export function refuseSpecialSeen(dir: string, { path, stats }: Seen): void {
  if (stats.isFile() || stats.isDirectory()) return
  refuseSpecial({ dir }, inBytes(path), path.slice(dir.length + 1))
}

/** Does the same for what `git config` reads. */
export async function refuseSpecialConfig(at: At, reader: ConfigReader): Promise<void> {
  if (await lstatIfThere(join(at.dir, COMMON_DIR))) throw refusal(at, OF_ANOTHER)
  refuseSpecial(at, inBytes(join(at.dir, 'HEAD')), 'HEAD')
  for (const name of ['config', 'config.worktree']) {
    const file = join(at.dir, name)
    const text = await ownText(at, file, name, LARGEST_CONFIG)
    if (text !== undefined && /include/i.test(text))
      await refuseSpecialIncludes(at, file, await readSettingsIn(file, reader), reader)
  }
}

/** Git follows each as often as it is named, so a few files can stand for billions. */
const MAX_INCLUDES = 100

/** Throws unless all that a config includes, and what that includes, are ordinary files of a sensible size. */
export async function refuseSpecialIncludes(
  at: At,
  config: string,
  settings: Settings,
  reader: ConfigReader,
): Promise<void> {
  const configs = [{ file: config, settings }]
  for (const { file, settings: said } of configs)
    for (const path of includedPaths(said)) {
      // The home directory is ours, and empty.
      if (/^~\/(?!.*\.\.)/s.test(path)) continue
      if (/^(?:~|%\(prefix\)\/)|\uFFFD/.test(path))
        throw refusal(at, 'its config includes a file that cannot be told by its path')
      const target = isAbsolute(path) ? path : `${dirname(file)}/${path}`
      const stats = statIfThere(inBytes(target))
      if (!stats) continue
      if (!stats.isFile()) throw refusal(at, 'its config includes what is not a file')
      if (stats.size > LARGEST_CONFIG)
        throw refusal(at, 'its config includes a file that is too large')
      if (configs.length > MAX_INCLUDES) throw refusal(at, 'its config includes too many files')
      configs.push({ file: target, settings: await readSettingsIn(realpathSync(target), reader) })
    }
}

/** Folders of an object store that git looks into; a link may stand for one. */
const OBJECT_FOLDER = /^(?:[0-9a-f]{2}|info|pack)$/
const FOLDERS_IN_THESE = ['info/commit-graphs', 'pack/multi-pack-index.d']
const MAX_LENDERS = 100
const LARGEST_ALTERNATES = 1024 * 1024

/** Does the same for what git reads to find objects. */
export async function refuseSpecialObjects(at: At): Promise<void> {
  const own = join(at.dir, 'objects')
  const stores = new Set([own])
  for (const store of stores) {
    const called = store === own ? 'objects' : 'the objects that it borrows'
    const path = inBytes(store)
    const folders = foldersIn(at, path, called).filter((name) => OBJECT_FOLDER.test(name))
    await inTurns([...folders, ...FOLDERS_IN_THESE], (folder) =>
      foldersIn(at, `${path}/${folder}`, `${called}/${folder}`),
    )
    for (const lender of await lendersOf(at, store, called)) stores.add(lender)
    if (stores.size > MAX_LENDERS)
      throw refusal(at, 'it borrows objects from too many places (alternates)')
  }
}

async function lendersOf(at: At, store: string, called: string): Promise<string[]> {
  const path = 'info/alternates'
  const text = await ownText(at, join(store, path), `${called}/${path}`, LARGEST_ALTERNATES)
  const lines = (text ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.length === 0) return []
  const from = realpathSync(store)
  return lines.map((line) => {
    const lender = readable(line.startsWith('"') ? unquoted(line) : line)
    if (lender.includes('\uFFFD'))
      throw refusal(at, `${called}/${path} names a path that is not UTF-8`)
    return resolve(from, lender)
  })
}

const ESCAPED: Record<string, string> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
}

/** As C writes strings, and git paths with unusual bytes. */
function unquoted(line: string): string {
  return line
    .slice(1, line.lastIndexOf('"'))
    .replace(/\\([0-7]{3}|.)/gs, (_, sign: string) =>
      sign.length === 3 ? String.fromCharCode(Number.parseInt(sign, 8)) : (ESCAPED[sign] ?? sign),
    )
}

/** A link to a directory is refused as well: two that lead to where they are stand for billions of refs. */
async function refuseSpecialBelow(at: At, top: string): Promise<void> {
  const path = inBytes(at.dir)
  const folders = [top]
  await inTurns(folders, (folder) => {
    const below = foldersIn(at, `${path}/${folder}`, folder, { mayBeLinks: false })
    for (const name of below) folders.push(`${folder}/${name}`)
  })
}

interface Ordinary {
  ino: number
  ctimeMs: number
  /** The names of the folders in it. */
  folders: string[]
}

/**
 * Folders without links and special files, by path, so that one is read again only when it has changed. Without this a clone of
 * some thousand loose objects, each request of which looks into 256 folders, would take a tenth more of CPU time.
 */
const ordinary = new Map<string, Ordinary>()
const MAX_REMEMBERED = 20_000
/** One that changed less long ago could change again without its time telling. */
const SETTLED_AFTER_MS = 2000

/** The names of the folders in one, of links to folders too; throws where anything else in it is special. As byte strings. */
function foldersIn(
  at: At,
  path: string,
  called: string,
  { mayBeLinks = true } = {},
): readonly string[] {
  const stats = statIfThere(path)
  if (!stats?.isDirectory()) return []
  const { ino, ctimeMs } = stats
  const known = ordinary.get(path)
  if (known?.ino === ino && known.ctimeMs === ctimeMs) return known.folders
  const folders: string[] = []
  let hasLinks = false
  for (const entry of entriesIfThere(path)) {
    if (entry.isFile()) continue
    const name = entry.name.toString('latin1')
    if (!entry.isDirectory()) {
      hasLinks = true
      const target = refuseSpecial(at, `${path}/${name}`, `${called}/${readable(name)}`)
      if (!target?.isDirectory()) continue
      if (!mayBeLinks) throw refusal(at, `${called}/${readable(name)} is a link to a directory`)
    }
    folders.push(name)
  }
  if (!hasLinks && ctimeMs < Date.now() - SETTLED_AFTER_MS) {
    if (ordinary.size >= MAX_REMEMBERED) ordinary.clear()
    ordinary.set(path, { ino, ctimeMs, folders })
  }
  return folders
}

/** Of a link, what it leads to is looked at; one that leads nowhere is git's to complain of. */
function refuseSpecial(at: At, path: string, called: string): Stats | undefined {
  const stats = statIfThere(path)
  if (stats && !stats.isFile() && !stats.isDirectory())
    throw refusal(at, `${called} is neither a file nor a directory`)
  return stats
}

const inBytes = (path: string): string => Buffer.from(path).toString('latin1')
const fromBytes = (path: string): Buffer => Buffer.from(path, 'latin1')

/** Of what a path, as a byte string, leads to. */
function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(fromBytes(path), { throwIfNoEntry: false })
  } catch (error) {
    if (hasCode(error, 'ELOOP')) return undefined
    throw error
  }
}

/** None where it went away a moment ago, as folders of loose objects do when they are packed. */
function entriesIfThere(path: string): Dirent<Buffer>[] {
  try {
    return readdirSync(fromBytes(path), { withFileTypes: true, encoding: 'buffer' })
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/** As a byte string; undefined where there is none. */
async function ownText(
  at: At,
  file: string,
  called: string,
  largest: number,
): Promise<string | undefined> {
  // An error would cost more.
  if (!(await lstatIfThere(file))) return undefined
  try {
    const bytes = await ifExists(readOwnFile(Buffer.from(file), largest), 'ENOENT', 'ENOTDIR')
    return bytes?.toString('latin1')
  } catch (error) {
    if (hasCode(error, 'ELOOP')) throw refusal(at, `${called} is not a file of its own`)
    if (hasCode(error, 'EFBIG')) throw refusal(at, `${called} is too large`)
    throw error
  }
}

function refusal({ name }: At, reason: string): Unreadable {
  return name === undefined ? new Unreadable(reason) : new Unsupported(name, reason)
}
