import type { Dirent, Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../../ground/errno.ts'
import { nameRefusal } from '../../ground/names.ts'
import type { RefusedEntry, RepositoryName, SpellingOf } from '../source.ts'
import { Unreadable } from '../unreadable.ts'
import {
  type Directory,
  isNamedAsRepository,
  type ReadDirectory,
  readDirectory,
} from './directory.ts'
import { MEMBERS_FILE } from './members-file.ts'
import { lstat, lstatIfThere } from './prompt-files.ts'
import { isWikiName, type TakenNames, takenNames } from './repository-names.ts'

export interface RepositoryPlace extends RepositoryName {
  dir: string
  /** The directory of its wiki; null when it has none. */
  wikiDir: string | null
}

type Place = { repository: RepositoryPlace } | { refused: RefusedEntry } | { membersOf: string }
type Places = AsyncGenerator<Place, void, void>

interface ListingOptions {
  /** Where names differ only in case, the owner that is spelled so. */
  only?: RepositoryName
  read?: ReadDirectory
  spellingOf?: SpellingOf
}

const A_LINK = 'a symbolic link; the directory itself must be here'
const OUT_OF_PLACE = 'a repository must be at OWNER/NAME.git'
const NO_REPOSITORY = 'not a bare git repository'

/** Below an owner, how deep to look for repositories that were put where none is expected. */
const DEEPEST = 3

/**
 * What `root` holds at OWNER/NAME.git, sorted by name, and why anything else that looks like a repository is not taken.
 * No link is ever followed: it could show a repository under an owner who may not read it.
 */
export async function* repositoriesIn(
  root: string,
  { only, read = readDirectory, spellingOf = () => only?.owner }: ListingOptions = {},
): Places {
  const top = await read(root)
  // An empty answer here would read as if every repository had been removed.
  if ('reason' in top) throw new Unreadable(`the directory of repositories: ${top.reason}`)
  const owners = takenNames()
  for (const entry of only ? top.named(only.owner) : top.entries) {
    const { name } = entry
    if (isNamedAsRepository(entry)) yield refused(name, OUT_OF_PLACE)
    else if (entry.isDirectory()) {
      const spelling = spellingOf(name)
      // Whose name it is keeps it even while nothing is there: others would be given what is not theirs.
      if (spelling !== undefined && isDirectoryIn(top, spelling)) owners.take(spelling)
      yield* inOwner(root, name, await read(join(root, name)), owners, only)
    } else if (await isLinkToDirectory(join(root, name))) yield refused(name, A_LINK)
  }
}

async function* inOwner(
  root: string,
  owner: string,
  directory: Directory | { reason: string },
  owners: TakenNames,
  only?: RepositoryName,
): Places {
  if ('reason' in directory) return yield refused(owner, directory.reason)
  if (isLikeRepository(directory)) return yield refused(owner, OUT_OF_PLACE)
  if (!only) yield* outOfPlace(root, owner, directory, 1)
  const hasMembers = directory.has(MEMBERS_FILE)
  if (directory.repositories.length === 0 && !hasMembers) return
  const reason = nameRefusal(owner)
  if (reason !== undefined) return yield refused(owner, reason)
  const twin = owners.twinOf(owner)
  if (twin !== undefined && twin !== owner) return yield refusedTwin(owner, twin)
  owners.take(owner)
  if (hasMembers) yield { membersOf: owner }
  yield* ofOwner(root, owner, directory, only)
}

async function* ofOwner(
  root: string,
  owner: string,
  directory: Directory,
  only?: RepositoryName,
): Places {
  const wanted = only ? directory.named(`${only.name}.git`) : directory.repositories
  const isThere = (name: string) => directory.has(`${name}.git`)
  const names = takenNames()
  for (const entry of wanted.filter(isNamedAsRepository)) {
    const name = nameOf(entry)
    const path = `${owner}/${entry.name}`
    const twin = names.twinOf(name)
    const reason = nameRefusal(name) ?? (twin ? undefined : await refusal(join(root, path), entry))
    if (reason !== undefined) {
      yield refused(path, reason)
    } else if (twin !== undefined) {
      yield refusedTwin(path, twin)
    } else if (!isWikiName(name, isThere)) {
      names.take(name)
      yield { repository: await placeOf(root, { owner, name }) }
    }
  }
}

/** Where a repository that was found before is, whatever has become of it. */
export async function placeOf(
  root: string,
  { owner, name }: RepositoryName,
): Promise<RepositoryPlace> {
  if ((nameRefusal(owner) ?? nameRefusal(name)) !== undefined) {
    throw new Unreadable('this name is not valid for a repository')
  }
  const dir = join(root, owner, `${name}.git`)
  const wikiDir = join(root, owner, `${name}.wiki.git`)
  return { owner, name, dir, wikiDir: (await isRepository(wikiDir)) ? wikiDir : null }
}

/** Why what stands in the place of a repository's wiki cannot be taken as one; undefined where nothing, or a wiki, does. */
export async function wikiRefusal(
  root: string,
  { owner, name }: RepositoryName,
): Promise<string | undefined> {
  const dir = join(root, owner, `${name}.wiki.git`)
  const there = await lstat(dir).catch((error: unknown) => {
    // The longest name that a repository can have leaves no room for that of a wiki.
    if (hasCode(error, 'ENOENT', 'ENAMETOOLONG')) return undefined
    throw error
  })
  return there && refusal(dir, there)
}

/** Repositories that lie deeper than an owner's, or whose directory is not named as one. */
async function* outOfPlace(root: string, path: string, at: Directory, depth: number): Places {
  for (const entry of at.entries) {
    if (isNamedAsRepository(entry) || !entry.isDirectory()) continue
    const below = `${path}/${entry.name}`
    const inside = await readDirectory(join(root, below))
    if ('reason' in inside) {
      yield refused(below, inside.reason)
    } else if (isLikeRepository(inside)) {
      yield refused(below, OUT_OF_PLACE)
    } else {
      for (const deep of inside.repositories) {
        yield refused(`${below}/${deep.name}`, OUT_OF_PLACE)
      }
      if (depth < DEEPEST) yield* outOfPlace(root, below, inside, depth + 1)
    }
  }
}

async function refusal(dir: string, entry: Dirent | Stats): Promise<string | undefined> {
  if (entry.isSymbolicLink()) return A_LINK
  if (!entry.isDirectory()) return NO_REPOSITORY
  const directory = await readDirectory(dir)
  if ('reason' in directory) return directory.reason
  return isLikeRepository(directory) ? undefined : NO_REPOSITORY
}

/** A directory of its own, not a link to one. */
export async function isRepository(dir: string): Promise<boolean> {
  if (!(await isDirectory(dir))) return false
  const directory = await readDirectory(dir)
  return !('reason' in directory) && isLikeRepository(directory)
}

/** What git itself asks for before it takes a directory for a repository. */
function isLikeRepository(directory: Directory): boolean {
  return ['HEAD', 'objects', 'refs'].every((part) => directory.has(part))
}

function nameOf({ name }: Dirent): string {
  return name.slice(0, -'.git'.length)
}

function refused(path: string, reason: string): Place {
  return { refused: { path, reason } }
}

function refusedTwin(path: string, twinOf: string): Place {
  return { refused: { path, reason: `its name differs only in case from ${twinOf}`, twinOf } }
}

function isDirectoryIn(directory: Directory, name: string): boolean {
  return directory.named(name).some((entry) => entry.name === name && entry.isDirectory())
}

async function isLinkToDirectory(path: string): Promise<boolean> {
  const target = await stat(path).catch(() => undefined)
  return target?.isDirectory() ?? false
}

export async function isDirectory(path: string): Promise<boolean> {
  return (await lstatIfThere(path).catch(() => undefined))?.isDirectory() ?? false
}
