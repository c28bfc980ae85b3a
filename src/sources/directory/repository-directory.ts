import type { Dirent, Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ifExists } from '../../lib/errno.ts'
import type { RefusedEntry, RepositoryName } from '../source.ts'
import { type Directory, readDirectory } from './directory.ts'
import { lstat, lstatIfThere } from './files/sync-fs.ts'

export interface RepositoryDirectory extends RepositoryName {
  /** Where it is below the root, without `.git`. */
  path: string
  dir: string
  /** The directory of its wiki; null when it has none. */
  wikiDir: string | null
}

export const A_LINK = 'a symbolic link; the directory itself must be here'
export const NO_REPOSITORY = 'not a bare git repository'

/** What is, or would be, at a path below the root; its wiki is beside it. */
export async function repositoryAt(
  root: string,
  path: string,
  { owner, name }: RepositoryName,
): Promise<RepositoryDirectory> {
  const dir = join(root, `${path}.git`)
  const wikiDir = wikiOf(dir)
  return { owner, name, path, dir, wikiDir: (await isRepository(wikiDir)) ? wikiDir : null }
}

/** Where the wiki of the repository in this directory is, or would be. */
export const wikiOf = (dir: string): string => dir.replace(/\.git$/, '.wiki.git')

/** Why what stands in the place of a repository's wiki cannot be taken as one; undefined where nothing, or a wiki, does. */
export async function wikiRefusal({ dir }: RepositoryDirectory): Promise<string | undefined> {
  const wiki = wikiOf(dir)
  // The longest name that a repository can have leaves no room for that of a wiki.
  const there = await ifExists(lstat(wiki), 'ENOENT', 'ENAMETOOLONG')
  return there && refusal(wiki, there)
}

/** Why an entry that is named as a repository is none. */
export async function refusal(dir: string, entry: Dirent | Stats): Promise<string | undefined> {
  if (entry.isSymbolicLink()) return A_LINK
  if (!entry.isDirectory()) return NO_REPOSITORY
  const directory = await readDirectory(dir)
  if ('reason' in directory) return directory.reason
  return isLikeRepository(directory) ? undefined : NO_REPOSITORY
}

/** Whether it is still there, or its wiki is. The root may be a link, which its operator chose; what is below may not. */
export async function isThere({ path, dir }: RepositoryDirectory, served = dir): Promise<boolean> {
  const isInRoot = !path.includes('/')
  return (isInRoot || (await isDirectory(dirname(dir)))) && isRepository(served)
}

/** What has none is a directory that somebody left behind, or begins to fill. Rejects where that cannot be seen. */
export async function hasConfig(dir: string): Promise<boolean> {
  return (await isDirectory(dir)) && (await lstatIfThere(join(dir, 'config'))) !== undefined
}

/** A directory of its own, not a link to one. */
export async function isRepository(dir: string): Promise<boolean> {
  if (!(await isDirectory(dir))) return false
  const directory = await readDirectory(dir)
  return !('reason' in directory) && isLikeRepository(directory)
}

/** What git itself asks for before it takes a directory for a repository. */
export function isLikeRepository(directory: Directory): boolean {
  return ['HEAD', 'objects', 'refs'].every((part) => directory.has(part))
}

/** The name of `NAME.git`. */
export function nameOf({ name }: Dirent): string {
  return name.slice(0, -'.git'.length)
}

export function refused(
  path: string,
  reason: string,
  hides?: RefusedEntry['hides'],
): { refused: RefusedEntry } {
  return { refused: { path, reason, ...(hides && { hides }) } }
}

export function caseConflict(path: string, twinOf: string): { refused: RefusedEntry } {
  return { refused: { path, reason: `its name differs only in case from ${twinOf}`, twinOf } }
}

export async function isLinkToDirectory(path: string): Promise<boolean> {
  const target = await stat(path).catch(() => undefined)
  return target?.isDirectory() ?? false
}

async function isDirectory(path: string): Promise<boolean> {
  return (await lstatIfThere(path).catch(() => undefined))?.isDirectory() ?? false
}
