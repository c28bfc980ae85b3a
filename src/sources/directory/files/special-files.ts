import { realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { hasCode, ifThere } from '../../../ground/errno.ts'
import { readable } from '../../refs.ts'
import { Unreadable } from '../../unreadable.ts'
import { readOwnFile } from './own-file.ts'
import { byteEntriesIn, lstatIfThere, promptly } from './prompt-files.ts'
import { Unsupported } from './repository-errors.ts'
import {
  type ConfigReader,
  includedPaths,
  LARGEST_CONFIG,
  readSettingsIn,
  type Settings,
} from './repository-settings.ts'

/** A repository of the source; with its name where that is to be part of a refusal. */
interface At {
  dir: string
  name?: string
}

/** With such a file git takes config, refs and objects from wherever it says. */
export const COMMON_DIR = 'commondir'
export const OF_ANOTHER = 'it is a worktree of another repository (commondir)'

const FILES = ['HEAD', 'config', 'config.worktree', 'packed-refs', 'shallow']
const FOLDERS = ['refs', 'worktrees', 'reftable']

/**
 * Throws where git, opened on this repository of the source, would wait for a pipe or read a device without end: in its files,
 * in what its config includes, and in the object stores that it borrows from. Links to ordinary files are not looked at here.
 */
export async function refuseSpecialFiles(at: At, reader: ConfigReader): Promise<void> {
  await refuseSpecialConfig(at, reader)
  for (const path of FILES) await refuseSpecial(at, Buffer.from(join(at.dir, path)), path)
  for (const folder of FOLDERS) await refuseSpecialBelow(at, folder)
  await refuseSpecialObjects(at)
}

/** Does the same for what `git config` reads. */
export async function refuseSpecialConfig(at: At, reader: ConfigReader): Promise<void> {
  if (await lstatIfThere(join(at.dir, COMMON_DIR))) throw refusal(at, OF_ANOTHER)
  await refuseSpecial(at, Buffer.from(join(at.dir, 'HEAD')), 'HEAD')
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
      const stats = await ifThere(statOf(Buffer.from(target)), ...NOWHERE)
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
    const folders = await entriesOf(Buffer.from(store))
    const wanted = folders.map(({ name }) => name.toString('latin1'))
    for (const folder of [
      ...wanted.filter((name) => OBJECT_FOLDER.test(name)),
      ...FOLDERS_IN_THESE,
    ])
      for (const entry of await entriesOf(Buffer.from(join(store, folder)))) {
        if (entry.isFile() || entry.isDirectory()) continue
        const path = Buffer.concat([Buffer.from(`${store}/${folder}/`), entry.name])
        await refuseSpecial(
          at,
          path,
          `${called}/${folder}/${readable(entry.name.toString('latin1'))}`,
        )
      }
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
    const lender = Buffer.from(line.startsWith('"') ? unquoted(line) : line, 'latin1').toString()
    if (lender.includes('\uFFFD'))
      throw refusal(at, `${called}/${path} names a path that is not UTF-8`)
    return resolve(from, lender)
  })
}

/** As C writes strings, and git paths with unusual bytes. */
function unquoted(line: string): string {
  const signs: Record<string, string> = {
    a: '\x07',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
    v: '\v',
  }
  return line
    .slice(1, line.lastIndexOf('"'))
    .replace(/\\([0-7]{3}|.)/gs, (_, sign: string) =>
      sign.length === 3 ? String.fromCharCode(Number.parseInt(sign, 8)) : (signs[sign] ?? sign),
    )
}

/** A link to a directory is refused as well: two that lead to each other stand for billions of refs. */
async function refuseSpecialBelow(at: At, top: string): Promise<void> {
  const folders = [Buffer.from(top)]
  for (const folder of folders)
    for (const entry of await entriesOf(Buffer.concat([Buffer.from(`${at.dir}/`), folder]))) {
      if (entry.isFile()) continue
      const path = Buffer.concat([folder, Buffer.from('/'), entry.name])
      if (entry.isDirectory()) folders.push(path)
      else
        await refuseSpecial(
          at,
          Buffer.concat([Buffer.from(`${at.dir}/`), path]),
          readable(path.toString('latin1')),
          { mayBeDirectory: false },
        )
    }
}

/** Of a link, what it leads to is looked at; one that leads nowhere is git's to complain of. */
async function refuseSpecial(
  at: At,
  path: Buffer,
  shown: string,
  { mayBeDirectory = true } = {},
): Promise<void> {
  const stats = await ifThere(statOf(path), ...NOWHERE)
  if (!stats || stats.isFile()) return
  if (!stats.isDirectory()) throw refusal(at, `${shown} is neither a file nor a directory`)
  if (!mayBeDirectory) throw refusal(at, `${shown} is a link to a directory`)
}

const NOWHERE = ['ENOENT', 'ENOTDIR', 'ELOOP'] as const
const statOf = promptly((path: Buffer): Stats => statSync(path))

const entriesOf = async (folder: Buffer) =>
  (await ifThere(byteEntriesIn(folder), 'ENOENT', 'ENOTDIR')) ?? []

/** As a byte string (latin1); undefined where there is none. */
async function ownText(
  at: At,
  file: string,
  shown: string,
  largest: number,
): Promise<string | undefined> {
  try {
    const bytes = await ifThere(readOwnFile(Buffer.from(file), largest), 'ENOENT', 'ENOTDIR')
    return bytes?.toString('latin1')
  } catch (error) {
    if (hasCode(error, 'ELOOP')) throw refusal(at, `${shown} is not a file of its own`)
    if (hasCode(error, 'EFBIG')) throw refusal(at, `${shown} is too large`)
    throw error
  }
}

function refusal({ name }: At, reason: string): Unreadable {
  return name === undefined ? new Unreadable(reason) : new Unsupported(name, reason)
}
