import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { toUnreadable } from '@godwit/git/files/repository-errors'
import { Unreadable } from '@godwit/git/unreadable'
import { invalidNameReason } from '@godwit/lib/names'
import { MEMBERS_FILE } from '../members-file.ts'
import {
  caseConflict,
  type Directory,
  isLikeRepository,
  isNamedAsRepository,
  linkRefusal,
  listingEntryAt,
  nameOf,
  readDirectory,
  readRoot,
  refused,
  repositoryAt,
} from '../repository-directory.ts'
import { anyDepth } from './any-depth.ts'
import {
  type Candidate,
  candidateDirectories,
  checkCandidate,
  isWiki,
  type Layout,
  type LayoutEntries,
  type ListingOptions,
  repositoryEntries,
  resolveCandidates,
  TakenNames,
} from './layout.ts'

export interface LayoutOptions {
  kind: 'owner/name' | 'flat' | 'any-depth'
  /** The owner of repositories that are in no owner's directory. */
  owner?: string | undefined
  /** Whether a repository may be in a directory with its name in lower case, as forges store it. */
  mayBeLowerCase?: boolean
}

export function createLayout(root: string, { kind, owner, mayBeLowerCase }: LayoutOptions): Layout {
  if (kind === 'owner/name') return ownerAndName(root, mayBeLowerCase)
  if (kind === 'any-depth') return anyDepth(root, owner)
  if (owner === undefined) throw new Error('the flat layout needs an owner')
  return flat(root, owner)
}

const OWNER_AND_NAME_ONLY = 'a repository must be at OWNER/NAME.git'

/** Repositories at OWNER/NAME.git. */
function ownerAndName(root: string, mayBeLowerCase = false): Layout {
  return {
    list: (options) => listRepositories(root, options),
    directoriesOf({ owner, name }) {
      if ((invalidNameReason(owner) ?? invalidNameReason(name)) !== undefined) {
        throw new Unreadable('this name is not valid for a repository')
      }
      const path = `${owner}/${name}`
      const isLowerCase = mayBeLowerCase && !isDirectory(join(root, `${path}.git`))
      return [repositoryAt(root, isLowerCase ? path.toLowerCase() : path, { owner, name })]
    },
  }
}

/** Throws Unreadable if this cannot be determined. */
function isDirectory(dir: string): boolean {
  try {
    return lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch (error) {
    throw toUnreadable(error, { dir })
  }
}

/**
 * Lists the repositories at OWNER/NAME.git, sorted by name, and refuses other entries that look like repositories. Follows no links:
 * they could show a repository under an owner who may not read it.
 */
function* listRepositories(root: string, options: ListingOptions = {}): LayoutEntries {
  const { only, read = readDirectory, spellingOf = () => only?.owner } = options
  const top = readRoot(root, read)
  const owners = new TakenNames()
  for (const entry of only ? top.named(only.owner) : top.entries) {
    const { name } = entry
    if (isNamedAsRepository(entry)) yield refused(name, OWNER_AND_NAME_ONLY)
    else if (entry.isDirectory()) {
      owners.reserve(spellingOf(name), top)
      const directory = read(`${root}/${name}`)
      yield undefined
      yield* listOwner(root, name, directory, owners, options)
    } else if (entry.isSymbolicLink() && !only) yield linkRefusal(root, name)
  }
}

function* listOwner(
  root: string,
  owner: string,
  directory: Directory | { reason: string },
  owners: TakenNames,
  { only, lastChangeTokenOf }: ListingOptions,
): LayoutEntries {
  if ('reason' in directory) return yield refused(owner, directory.reason)
  if (isLikeRepository(directory)) return yield refused(owner, OWNER_AND_NAME_ONLY)
  if (!only) yield* misplacedRepositories(root, owner, directory, OWNER_AND_NAME_ONLY)
  const hasMembers = directory.has(MEMBERS_FILE)
  if (!hasMembers && !directory.entries.some(isNamedAsRepository)) return
  const ownerRefusal = owners.takeOwner(owner)
  if (ownerRefusal) return yield ownerRefusal
  if (hasMembers) yield { membersOf: owner, path: `${owner}/${MEMBERS_FILE}` }
  const wanted = only ? directory.named(`${only.name}.git`) : directory.entries
  const names = new TakenNames()
  for (const entry of wanted.filter(isNamedAsRepository)) {
    const name = nameOf(entry)
    const path = `${owner}/${name}`
    const taken = names.spellingOf(name)
    if (taken !== undefined) {
      yield caseConflict(`${path}.git`, taken)
      continue
    }
    const candidate = { owner, name, path, entry }
    const checked = checkCandidate(root, candidate, lastChangeTokenOf?.(candidate))
    if (checked.reason !== undefined) yield refused(`${path}.git`, checked.reason)
    else if (!isWiki(name, directory)) {
      names.take(name)
      const mayHaveWiki = directory.has(`${name}.wiki.git`)
      yield listingEntryAt(root, path, { ...checked, mayHaveWiki })
    }
  }
}

const NAME_ONLY = 'a repository must be at NAME.git (--layout flat)'

/** Repositories at NAME.git, all of one owner. */
function flat(root: string, owner: string): Layout {
  const isOwner = (login: string) => login.toLowerCase() === owner.toLowerCase()

  function* list(options: ListingOptions = {}): LayoutEntries {
    const { only, read = readDirectory, lastChangeTokenOf } = options
    const top = readRoot(root, read)
    if (only && !isOwner(only.owner)) return
    if (!only) yield* misplacedRepositories(root, '', top, NAME_ONLY)
    if (top.has(MEMBERS_FILE)) yield { membersOf: owner, path: MEMBERS_FILE }
    yield* resolveCandidates(root, candidatesIn(top, owner, only?.name), lastChangeTokenOf)
  }

  return {
    list,
    directoriesOf({ owner: login, name }) {
      const top = readRoot(root)
      return isOwner(login) ? candidateDirectories(root, candidatesIn(top, owner, name)) : []
    },
  }
}

function candidatesIn(top: Directory, owner: string, only?: string): Candidate[] {
  return repositoryEntries(top, only).map((entry) => {
    const name = nameOf(entry)
    return { owner, name, path: name, entry }
  })
}

/** How deep to look for misplaced repositories. */
const MAX_DEPTH = 3

/** Refuses repositories that are too deep, or whose directory has no `.git` at the end of its name. */
function* misplacedRepositories(
  root: string,
  path: string,
  directory: Directory,
  reason: string,
  depth = 1,
): LayoutEntries {
  for (const entry of directory.entries) {
    if (isNamedAsRepository(entry) || !entry.isDirectory()) continue
    const below = join(path, entry.name)
    const inside = readDirectory(join(root, below))
    yield undefined
    if ('reason' in inside) {
      yield refused(below, inside.reason)
    } else if (isLikeRepository(inside)) {
      yield refused(below, reason)
    } else {
      for (const deep of inside.entries.filter(isNamedAsRepository))
        yield refused(join(below, deep.name), reason)
      if (depth < MAX_DEPTH) yield* misplacedRepositories(root, below, inside, reason, depth + 1)
    }
  }
}
