import { type Dirent, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileErrorReason, toUnreadable } from '@godwit/git/files/repository-errors'
import { COARSE_TICK_MS, ifExistsSync, lstatIfExists } from '@godwit/git/files/sync-fs'
import { Unreadable } from '@godwit/git/unreadable'
import { ifExists } from '@godwit/lib/errno'
import type { RefusedEntry, RepositoryName } from '../source.ts'
import { isCurrent } from './metadata/change-token.ts'

/** The entries of a directory when it was read, sorted by name. */
export class Directory {
  readonly entries: readonly Dirent[]
  #byLowerCaseName: Map<string, Dirent[]> | undefined

  constructor(entries: Dirent[]) {
    this.entries = entries
      .filter((entry) => !isTemporary(entry))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Returns all entries of that name, ignoring case. */
  named(name: string): readonly Dirent[] {
    this.#byLowerCaseName ??= Map.groupBy(this.entries, (entry) => entry.name.toLowerCase())
    return this.#byLowerCaseName.get(name.toLowerCase()) ?? []
  }

  has(name: string): boolean {
    return this.named(name).some((entry) => entry.name === name)
  }

  hasDirectory(name: string): boolean {
    return this.named(name).some((entry) => entry.name === name && entry.isDirectory())
  }
}

/** Whether a restore is unpacking into this directory, or left it when it was killed. */
const isTemporary = ({ name }: Dirent): boolean => name.startsWith('.godwit-')

/** Reads a directory, or returns why it cannot be read. */
export type ReadDirectory = (dir: string) => Directory | { reason: string }

export const readDirectory: ReadDirectory = (dir) => {
  try {
    return new Directory(readdirSync(dir, { withFileTypes: true }))
  } catch (error) {
    const reason = fileErrorReason(error)
    if (reason === undefined) throw error
    return { reason }
  }
}

/** Throws Unreadable: an empty result would mean that every repository has been removed. */
export function readRoot(root: string, read = readDirectory): Directory {
  const top = read(root)
  if ('reason' in top) throw new Unreadable(`the directory of repositories: ${top.reason}`)
  return top
}

const MAX_CACHED = 64

/**
 * Returns a reader that reads a directory again only after a change. Without a cache, looking up each of ten thousand repositories of
 * one owner would read ten thousand names ten thousand times.
 */
export function cachingReader(now: () => number = Date.now): ReadDirectory {
  const cache = new Map<string, { version: string; directory: Directory }>()
  /** The directories whose version was checked since this thread last waited for anything. */
  const checked = new Set<string>()
  return (dir) => {
    const cached = cache.get(dir)
    if (cached && checked.has(dir)) return cached.directory
    const version = cacheableVersion(dir, now())
    if (checked.size === 0) process.nextTick(() => checked.clear())
    checked.add(dir)
    if (cached && cached.version === version) return cached.directory
    cache.delete(dir)
    const directory = readDirectory(dir)
    if (version === undefined || 'reason' in directory) return directory
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(dir, { version, directory })
    return directory
  }
}

function cacheableVersion(dir: string, now: number): string | undefined {
  const stats = ifReadable(() => statSync(dir, { bigint: true }))
  if (!stats || Number(stats.ctimeMs) > now - COARSE_TICK_MS) return undefined
  return `${stats.dev} ${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}`
}

/** Returns undefined if `read` fails: the caller reads more next, which also fails, and reports the error. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

export interface RepositoryDirectory extends RepositoryName {
  /** Relative to the root, without `.git`. */
  path: string
  dir: string
  /** The directory of its wiki; null if it has none. */
  wikiDir: string | null
  /** Its change token, if that is known already. */
  changeToken?: string | undefined
}

/** The directories of the repository and of its wiki. */
export const gitDirectoriesOf = ({ dir, wikiDir }: RepositoryDirectory): string[] =>
  wikiDir === null ? [dir] : [dir, wikiDir]

export const IS_LINK = 'a symbolic link; the directory itself must be here'
export const NOT_A_REPOSITORY = 'not a bare git repository'

interface NamedEntry extends RepositoryName {
  /** False if the directory that contains the repository has no entry of this name. */
  mayHaveWiki?: boolean
}

/** Returns the directories of a repository that is, or would be, at a path below the root. Throws Unreadable. */
export function repositoryAt(
  root: string,
  path: string,
  { owner, name, mayHaveWiki = true }: NamedEntry,
): RepositoryDirectory {
  const dir = `${root}/${path}.git`
  const wiki = mayHaveWiki ? wikiOf(dir) : null
  try {
    return { owner, name, path, dir, wikiDir: wiki !== null && isRepository(wiki) ? wiki : null }
  } catch (error) {
    throw toUnreadable(error, { dir: wiki! })
  }
}

/** Returns the listing entry of one repository, which is refused if it cannot be read. */
export function listingEntryAt(
  root: string,
  path: string,
  { changeToken, ...entry }: NamedEntry & { changeToken: string | undefined },
): { repository: RepositoryDirectory } | { refused: RefusedEntry } {
  try {
    return { repository: { ...repositoryAt(root, path, entry), changeToken } }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return refused(`${path}.git`, error.message, { fullName: `${entry.owner}/${entry.name}` })
  }
}

/** Returns the directory of the repository's wiki, whether or not it exists. */
export const wikiOf = (dir: string): string => dir.replace(/\.git$/, '.wiki.git')

/** Returns why the directory of a repository's wiki is refused; undefined if it is a repository, or does not exist. */
export function wikiRefusal({ dir }: RepositoryDirectory): string | undefined {
  const wiki = wikiOf(dir)
  const stats = lstatUnlessTooLong(wiki)
  return stats && refusal(wiki, stats)
}

/** Returns the change token of a repository if it is still the last one. Then the entry is a repository that can be read. */
export function currentChangeToken(
  dir: string,
  entry: Dirent,
  lastChangeToken: string | undefined,
): string | undefined {
  if (!entry.isDirectory() || lastChangeToken === undefined) return undefined
  const end = lastChangeToken.indexOf(' ')
  const changeToken = end === -1 ? lastChangeToken : lastChangeToken.slice(0, end)
  return ifReadable(() => isCurrent(dir, changeToken)) ? changeToken : undefined
}

/** Returns why an entry that is named like a repository is refused; undefined if it is a repository. */
export function refusal(dir: string, entry: Dirent | Stats): string | undefined {
  if (entry.isSymbolicLink()) return IS_LINK
  if (!entry.isDirectory()) return NOT_A_REPOSITORY
  const directory = readDirectory(dir)
  if ('reason' in directory) return directory.reason
  return isLikeRepository(directory) ? undefined : NOT_A_REPOSITORY
}

/** Whether the repository still exists, or the wiki given as `served`. */
export async function repositoryExists(
  directory: RepositoryDirectory,
  served = directory.dir,
): Promise<boolean> {
  return isParentReal(directory) && isRepository(served)
}

/** Whether the repository exists, damaged or not. */
export async function existsEvenIfDamaged(directory: RepositoryDirectory): Promise<boolean> {
  const { dir } = directory
  return isParentReal(directory) && ((await hasConfig(dir)) || isRepository(dir))
}

/**
 * Whether the directory that contains the repository is a directory and not a link. The root itself may be a link, which its operator
 * chose.
 */
export function isParentReal({ path, dir }: RepositoryDirectory): boolean {
  return !path.includes('/') || isDirectory(dirname(dir))
}

/** A directory without a config was left behind, or is being created. */
export async function hasConfig(dir: string): Promise<boolean> {
  return isDirectory(dir) && (await lstatIfExists(join(dir, 'config'))) !== undefined
}

/** Whether the directory is a repository, not a link to one. Returns false if its entries cannot be read. */
export function isRepository(dir: string): boolean {
  const stats = lstatUnlessTooLong(dir)
  return stats !== undefined && refusal(dir, stats) === undefined
}

/** Git accepts a directory with these entries as a repository. */
export function isLikeRepository(directory: Directory): boolean {
  return ['HEAD', 'objects', 'refs'].every((part) => directory.has(part))
}

export const isNamedAsRepository = ({ name }: Dirent): boolean => name.endsWith('.git')

/** Returns `NAME` for an entry `NAME.git`. */
export const nameOf = ({ name }: Dirent): string => name.slice(0, -'.git'.length)

export function refused(
  path: string,
  reason: string,
  hiddenRepositories?: RefusedEntry['hiddenRepositories'],
): { refused: RefusedEntry } {
  return { refused: { path, reason, ...(hiddenRepositories && { hiddenRepositories }) } }
}

export function caseConflict(path: string, caseConflictWith: string): { refused: RefusedEntry } {
  const reason = `differs only by case from ${caseConflictWith}, which is served instead; rename one`
  return { refused: { path, reason, caseConflictWith } }
}

/** Refuses a link to a directory; returns undefined for broken links, and links to files. */
export async function linkRefusal(root: string, path: string) {
  try {
    const target = await ifExists(
      stat(join(root, path)),
      'ENOENT',
      'ENOTDIR',
      'ELOOP',
      'ENAMETOOLONG',
    )
    return target?.isDirectory() ? refused(path, IS_LINK) : undefined
  } catch (error) {
    const reason = fileErrorReason(error)
    if (reason === undefined) throw error
    return refused(path, `a symbolic link whose target cannot be read: ${reason}`)
  }
}

function isDirectory(path: string): boolean {
  return lstatUnlessTooLong(path)?.isDirectory() ?? false
}

/** A repository can have a name so long that the name of its wiki would be too long for the file system. */
const lstatUnlessTooLong = (path: string): Stats | undefined =>
  ifExistsSync(() => lstatSync(path, { throwIfNoEntry: false }), 'ENAMETOOLONG')
