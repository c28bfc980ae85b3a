import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import {
  type Directory,
  isNamedAsRepository,
  type ReadDirectory,
  readDirectory,
} from '../directory.ts'
import {
  A_LINK,
  isLikeRepository,
  isLinkToDirectory,
  nameOf,
  refused,
} from '../repository-directory.ts'
import type { FoundPlaces } from './layout.ts'
import type { Candidate } from './same-names.ts'
import { isWikiName } from './same-names.ts'

/** A directory with repositories of an owner in it, or in directories of it. */
export interface OwnedFolder {
  owner: string
  /** Below the root, with a slash at its end; empty for the root, whose directories are owners. */
  path: string
  /** What the name of everything in it begins with. */
  prefix: string
  directory: Directory
}

export const UNNAMED = 'a bare repository must have a name that ends in .git'
const TOO_DEEP = 'it is too deep'
const DEEPEST = 30

/** Every entry in it that is named as a repository, however deep; yields what cannot be looked into. */
export async function* walk(
  root: string,
  folder: OwnedFolder,
  take: (candidate: Candidate) => void,
  depth = 1,
): FoundPlaces {
  for (const entry of folder.directory.entries) {
    if (isNamedAsRepository(entry)) {
      for (const candidate of candidatesOf(folder, [entry])) take(candidate)
    } else if (folder.path !== '') {
      yield* walkInto(root, folder, entry, take, depth)
    }
  }
}

async function* walkInto(
  root: string,
  { owner, path, prefix }: OwnedFolder,
  entry: Dirent,
  take: (candidate: Candidate) => void,
  depth: number,
): FoundPlaces {
  const below = `${path}${entry.name}`
  const inside = { owner, path: `${below}/`, prefix: `${prefix}${entry.name}-` }
  const hides = { beginning: `${owner}/${inside.prefix}` }
  if (entry.isDirectory()) {
    const directory = await readDirectory(join(root, below))
    if ('reason' in directory) yield refused(below, directory.reason, hides)
    else if (isLikeRepository(directory)) yield refused(below, UNNAMED)
    else if (depth === DEEPEST) yield refused(below, TOO_DEEP, hides)
    else yield* walk(root, { ...inside, directory }, take, depth + 1)
  } else if (entry.isSymbolicLink() && (await isLinkToDirectory(join(root, below)))) {
    yield refused(below, A_LINK)
  }
}

/**
 * The same for one name. Only directories are looked into that the name can lead through, so that one of ten thousand
 * repositories is found without a walk through all of them.
 */
export async function candidatesNamed(
  root: string,
  folder: OwnedFolder,
  name: string,
  read: ReadDirectory,
): Promise<Candidate[]> {
  const { owner, path, prefix, directory } = folder
  const found = candidatesOf(folder, directory.named(`${name}.git`).filter(isNamedAsRepository))
  for (const [part, rest] of path === '' ? [] : cuts(name)) {
    for (const entry of directory.named(part)) {
      if (!entry.isDirectory() || isNamedAsRepository(entry)) continue
      const below = `${path}${entry.name}/`
      const inside = await read(join(root, below))
      if ('reason' in inside || isLikeRepository(inside)) continue
      const next = { owner, path: below, prefix: `${prefix}${entry.name}-`, directory: inside }
      found.push(...(await candidatesNamed(root, next, rest, read)))
    }
  }
  return found
}

/** `a-b-c` at each of its hyphens. */
function cuts(name: string): [string, string][] {
  const hyphens = [...name.matchAll(/-/g)].map(({ index }) => index)
  return hyphens.map((at) => [name.slice(0, at), name.slice(at + 1)])
}

/** Wikis are their repository's. */
function candidatesOf(
  { owner, path, prefix, directory }: OwnedFolder,
  entries: readonly Dirent[],
): Candidate[] {
  const isThere = (name: string) => directory.has(`${name}.git`)
  return entries
    .filter((entry) => !isWikiName(nameOf(entry), isThere))
    .map((entry) => {
      const name = nameOf(entry)
      return { owner, name: `${prefix}${name}`, path: `${path}${name}`, entry }
    })
}
