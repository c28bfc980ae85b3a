import { join } from 'node:path'
import { ifExists } from '../../../lib/errno.ts'
import { nameRefusal } from '../../../lib/names.ts'
import type { RepositoryName } from '../../source.ts'
import { Unreadable } from '../../unreadable.ts'
import { type Directory, isNamedAsRepository, readDirectory, readRoot } from '../directory.ts'
import { lstat } from '../files/sync-fs.ts'
import { orUnreadable } from '../files/why-unreadable.ts'
import { MEMBERS_FILE } from '../members-file.ts'
import {
  A_LINK,
  caseConflict,
  isLikeRepository,
  isLinkToDirectory,
  nameOf,
  refusal,
  refused,
  repositoryAt,
} from '../repository-directory.ts'
import type { FoundPlaces, Layout, ListingOptions } from './layout.ts'
import { isWikiName, type TakenNames, takenNames } from './same-names.ts'

const OUT_OF_PLACE = 'a repository must be at OWNER/NAME.git'

/** Repositories at OWNER/NAME.git. */
export function ownerAndName(root: string, mayBeLowerCase = false): Layout {
  return {
    list: (options) => repositoriesIn(root, options),
    async dataPathsOf({ owner, name }) {
      if ((nameRefusal(owner) ?? nameRefusal(name)) !== undefined) {
        throw new Unreadable('this name is not valid for a repository')
      }
      const path = `${owner}/${name}`
      const isElsewhere = mayBeLowerCase && !(await isDirectoryThere(join(root, `${path}.git`)))
      return [await repositoryAt(root, isElsewhere ? path.toLowerCase() : path, { owner, name })]
    },
  }
}

/** What may be where nobody may look is not known to be elsewhere: rejects with Unreadable. */
const isDirectoryThere = (dir: string): Promise<boolean> =>
  orUnreadable(dir, undefined, async () => {
    const there = await ifExists(lstat(dir), 'ENOENT', 'ENOTDIR')
    return there?.isDirectory() ?? false
  })

/**
 * What `root` holds at OWNER/NAME.git, sorted by name, and why anything else that looks like a repository is not taken.
 * No link is ever followed: it could show a repository under an owner who may not read it.
 */
async function* repositoriesIn(
  root: string,
  { only, read = readDirectory, spellingOf = () => only?.owner }: ListingOptions = {},
): FoundPlaces {
  const top = await readRoot(root, read)
  const owners = takenNames()
  for (const entry of only ? top.named(only.owner) : top.entries) {
    const { name } = entry
    if (isNamedAsRepository(entry)) yield refused(name, OUT_OF_PLACE)
    else if (entry.isDirectory()) {
      const spelling = spellingOf(name)
      // Whose name it is keeps it even while nothing is there: others would be given what is not theirs.
      if (spelling !== undefined && top.hasDirectory(spelling)) owners.take(spelling)
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
): FoundPlaces {
  if ('reason' in directory) return yield refused(owner, directory.reason)
  if (isLikeRepository(directory)) return yield refused(owner, OUT_OF_PLACE)
  if (!only) yield* outOfPlace(root, owner, directory, OUT_OF_PLACE)
  const hasMembers = directory.has(MEMBERS_FILE)
  if (directory.repositories.length === 0 && !hasMembers) return
  const reason = nameRefusal(owner)
  if (reason !== undefined) return yield refused(owner, reason)
  const twin = owners.twinOf(owner)
  if (twin !== undefined && twin !== owner) return yield caseConflict(owner, twin)
  owners.take(owner)
  if (hasMembers) yield { membersOf: owner, path: `${owner}/${MEMBERS_FILE}` }
  yield* ofOwner(root, owner, directory, only)
}

async function* ofOwner(
  root: string,
  owner: string,
  directory: Directory,
  only?: RepositoryName,
): FoundPlaces {
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
      yield caseConflict(path, twin)
    } else if (!isWikiName(name, isThere)) {
      names.take(name)
      yield { repository: await repositoryAt(root, `${owner}/${name}`, { owner, name }) }
    }
  }
}

/** How deep to look for repositories that were put where none is expected. */
const DEEPEST = 3

/** Repositories that lie deeper than they should, or whose directory is not named as one. */
export async function* outOfPlace(
  root: string,
  path: string,
  at: Directory,
  reason: string,
  depth = 1,
): FoundPlaces {
  for (const entry of at.entries) {
    if (isNamedAsRepository(entry) || !entry.isDirectory()) continue
    const below = join(path, entry.name)
    const inside = await readDirectory(join(root, below))
    if ('reason' in inside) {
      yield refused(below, inside.reason)
    } else if (isLikeRepository(inside)) {
      yield refused(below, reason)
    } else {
      for (const deep of inside.repositories) yield refused(join(below, deep.name), reason)
      if (depth < DEEPEST) yield* outOfPlace(root, below, inside, reason, depth + 1)
    }
  }
}
