import type { Dirent } from 'node:fs'
import { join, relative } from 'node:path'
import { Unreadable } from '@godwit/git/unreadable'
import { MEMBERS_FILE } from '../members-file.ts'
import {
  cachingReader,
  type Directory,
  isLikeRepository,
  isNamedAsRepository,
  linkRefusal,
  nameOf,
  type ReadDirectory,
  readDirectory,
  readRoot,
  refused,
} from '../repository-directory.ts'
import {
  type Candidate,
  candidateDirectories,
  isWiki,
  type Layout,
  type LayoutEntries,
  type ListingOptions,
  repositoryEntries,
  resolveCandidates,
  TakenNames,
} from './layout.ts'

const WITHOUT_OWNER = 'it is not in the directory of an owner: set --owner LOGIN to name its owner'
const WITHOUT_SUFFIX = 'a bare repository must have a name that ends in .git'
const TOO_DEEP = 'it is nested too deeply'
const MAX_DEPTH = 30

/**
 * Repositories at any depth: the first part of the path is the owner, the other parts joined by `-` are the name. Those in the root
 * belong to `topOwner`.
 */
export function anyDepth(root: string, topOwner: string | undefined): Layout {
  const cachedRead = cachingReader()

  /** Returns the owner's directory, and the root if it belongs to the owner. */
  function foldersOf(owner: string, top: Directory, read: ReadDirectory) {
    const folders: OwnedFolder[] = []
    if (owner === topOwner) folders.push({ owner, path: '', prefix: '', directory: top })
    if (!top.hasDirectory(owner)) return { folders }
    const directory = read(join(root, owner))
    if ('reason' in directory) return { folders, reason: directory.reason }
    if (isLikeRepository(directory)) return { folders, reason: WITHOUT_SUFFIX }
    folders.push({ owner, path: `${owner}/`, prefix: '', directory })
    return { folders }
  }

  function* list(options: ListingOptions = {}): LayoutEntries {
    const {
      only,
      read = readDirectory,
      spellingOf = () => only?.owner,
      lastChangeTokenOf,
    } = options
    const top = readRoot(root, read)
    const owners = new TakenNames()
    if (topOwner !== undefined) owners.take(topOwner)
    for (const owner of listOwners(top, topOwner, only?.owner)) {
      owners.reserve(spellingOf(owner), top)
      const { folders, reason } = foldersOf(owner, top, read)
      yield reason === undefined ? undefined : refused(owner, reason)
      const candidates: Candidate[] = []
      for (const folder of folders) {
        if (only) candidates.push(...candidatesNamed(root, folder, only.name, read))
        else yield* collectCandidates(root, folder, candidates)
      }
      const members = folders.find(({ directory }) => directory.has(MEMBERS_FILE))
      if (candidates.length > 0 || members) {
        const refusal = owners.takeOwner(owner)
        if (refusal) yield refusal
        else {
          if (members) yield { membersOf: owner, path: `${members.path}${MEMBERS_FILE}` }
          yield* resolveCandidates(root, candidates, lastChangeTokenOf)
        }
      }
    }
    if (!only) yield* entriesWithoutOwner(root, top, topOwner)
  }

  return {
    list,
    directoriesOf({ owner, name }) {
      const top = readRoot(root, cachedRead)
      const unreadable: string[] = []
      const read: ReadDirectory = (dir) => {
        const directory = cachedRead(dir)
        if ('reason' in directory) unreadable.push(`${relative(root, dir)}: ${directory.reason}`)
        return directory
      }
      const { folders } = foldersOf(owner, top, read)
      const candidates: Candidate[] = []
      for (const folder of folders) candidates.push(...candidatesNamed(root, folder, name, read))
      // The repository may be in the directory that cannot be read.
      if (candidates.length === 0 && unreadable[0] !== undefined)
        throw new Unreadable(unreadable[0])
      return candidateDirectories(root, candidates)
    },
  }
}

/** Lists all owners, or those of one name, ignoring case. */
function listOwners(top: Directory, topOwner: string | undefined, only?: string): Set<string> {
  const isWanted = (owner: string) =>
    only === undefined || owner.toLowerCase() === only.toLowerCase()
  const directories = top.entries.filter((e) => e.isDirectory() && !isNamedAsRepository(e))
  const owners = directories.map(({ name }) => name)
  if (topOwner !== undefined) owners.unshift(topOwner)
  return new Set(owners.filter(isWanted))
}

/** A directory that contains repositories of an owner, or directories with such repositories. */
interface OwnedFolder {
  owner: string
  /** Relative to the root, with a final slash; empty for the root itself, whose directories are owners. */
  path: string
  /** The beginning of the name of every repository in it. */
  prefix: string
  directory: Directory
}

function* entriesWithoutOwner(
  root: string,
  top: Directory,
  topOwner: string | undefined,
): LayoutEntries {
  for (const entry of top.entries) {
    if (isNamedAsRepository(entry)) {
      if (topOwner === undefined) yield refused(entry.name, WITHOUT_OWNER)
    } else if (entry.isSymbolicLink()) yield linkRefusal(root, entry.name)
  }
}

/** Adds every candidate in the folder, however deep, to `candidates`; yields directories that cannot be read. */
function* collectCandidates(
  root: string,
  folder: OwnedFolder,
  candidates: Candidate[],
  depth = 1,
): LayoutEntries {
  const { owner, path, prefix } = folder
  for (const entry of folder.directory.entries) {
    const below = `${path}${entry.name}`
    if (isNamedAsRepository(entry)) {
      if (!isWiki(nameOf(entry), folder.directory)) candidates.push(candidateOf(folder, entry))
    } else if (path === '') {
      // The directories of the root are other owners.
    } else if (entry.isDirectory()) {
      const inside = { owner, path: `${below}/`, prefix: `${prefix}${entry.name}-` }
      const hiddenRepositories = { prefix: `${owner}/${inside.prefix}` }
      const directory = readDirectory(join(root, below))
      yield undefined
      if ('reason' in directory) yield refused(below, directory.reason, hiddenRepositories)
      else if (isLikeRepository(directory)) yield refused(below, WITHOUT_SUFFIX)
      else if (depth === MAX_DEPTH) yield refused(below, TOO_DEEP, hiddenRepositories)
      else yield* collectCandidates(root, { ...inside, directory }, candidates, depth + 1)
    } else if (entry.isSymbolicLink()) yield linkRefusal(root, below)
  }
}

/**
 * Returns the candidates of one name. Reads only directories whose names are a prefix of it, so that finding one of ten thousand
 * repositories does not read them all.
 */
function candidatesNamed(
  root: string,
  folder: OwnedFolder,
  name: string,
  read: ReadDirectory,
): Candidate[] {
  const { owner, path, prefix, directory } = folder
  const found = repositoryEntries(directory, name).map((entry) => candidateOf(folder, entry))
  for (const [part, rest] of path === '' ? [] : splitsAtHyphens(name)) {
    for (const entry of directory.named(part)) {
      if (!entry.isDirectory() || isNamedAsRepository(entry)) continue
      const below = `${path}${entry.name}/`
      const inside = read(join(root, below))
      if ('reason' in inside || isLikeRepository(inside)) continue
      const next = { owner, path: below, prefix: `${prefix}${entry.name}-`, directory: inside }
      found.push(...candidatesNamed(root, next, rest, read))
    }
  }
  return found
}

/** Splits `a-b-c` into `a` and `b-c`, and into `a-b` and `c`. */
function splitsAtHyphens(name: string): [string, string][] {
  const hyphens = [...name.matchAll(/-/g)].map(({ index }) => index)
  return hyphens.map((at) => [name.slice(0, at), name.slice(at + 1)])
}

function candidateOf({ owner, path, prefix }: OwnedFolder, entry: Dirent): Candidate {
  const name = nameOf(entry)
  return { owner, name: `${prefix}${name}`, path: `${path}${name}`, entry }
}
