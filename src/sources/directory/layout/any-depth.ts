import { join, relative } from 'node:path'
import { nameRefusal } from '../../../lib/names.ts'
import { Unreadable } from '../../unreadable.ts'
import {
  type Directory,
  isNamedAsRepository,
  type ReadDirectory,
  readDirectory,
  readRoot,
  rememberingReader,
} from '../directory.ts'
import { MEMBERS_FILE } from '../members-file.ts'
import {
  A_LINK,
  caseConflict,
  isLikeRepository,
  isLinkToDirectory,
  refused,
} from '../repository-directory.ts'
import { candidatesNamed, type OwnedFolder, UNNAMED, walk } from './folder.ts'
import type { FoundPlaces, Layout, ListingOptions } from './layout.ts'
import { type Candidate, placesFor, settled, type TakenNames, takenNames } from './same-names.ts'

const AT_THE_TOP = 'it is in no directory of an owner: set --owner LOGIN to say whose it is'

/**
 * Repositories at any depth: the first part of the path is the owner, the rest joined by `-` is the name. Those at the top
 * are `topOwner`'s.
 */
export function anyDepth(root: string, topOwner: string | undefined): Layout {
  const remembering = rememberingReader()

  async function* list(options: ListingOptions = {}): FoundPlaces {
    const { only, read = readDirectory, spellingOf = () => only?.owner } = options
    const top = await readRoot(root, read)
    const owners = takenNames()
    if (topOwner !== undefined) owners.take(topOwner)
    for (const owner of ownersIn(top, topOwner, only?.owner)) {
      const spelling = spellingOf(owner)
      // Whose name it is keeps it even while nothing is there: others would be given what is not theirs.
      if (spelling !== undefined && top.hasDirectory(spelling) && !owners.twinOf(spelling))
        owners.take(spelling)
      const { folders, reason } = await foldersOf(root, owner, { top, topOwner, read })
      if (reason !== undefined) yield refused(owner, reason)
      const candidates: Candidate[] = []
      for (const folder of folders) {
        if (only) candidates.push(...(await candidatesNamed(root, folder, only.name, read)))
        else yield* walk(root, folder, (candidate) => candidates.push(candidate))
      }
      const members = folders.find(({ directory }) => directory.has(MEMBERS_FILE))
      if (candidates.length > 0 || members) {
        const refusal = refusalOf(owner, owners)
        if (refusal) yield refusal
        else {
          owners.take(owner)
          if (members) yield { membersOf: owner, path: `${members.path}${MEMBERS_FILE}` }
          yield* settled(root, candidates)
        }
      }
    }
    if (!only) yield* outsideOwners(root, top, topOwner)
  }

  return {
    list,
    async dataPathsOf({ owner, name }) {
      const top = await readRoot(root, remembering)
      const unread: string[] = []
      const read: ReadDirectory = async (dir) => {
        const directory = await remembering(dir)
        if ('reason' in directory) unread.push(`${relative(root, dir)}: ${directory.reason}`)
        return directory
      }
      const { folders } = await foldersOf(root, owner, { top, topOwner, read })
      const candidates: Candidate[] = []
      for (const folder of folders)
        candidates.push(...(await candidatesNamed(root, folder, name, read)))
      // It may be where nobody may look.
      if (candidates.length === 0 && unread[0] !== undefined) throw new Unreadable(unread[0])
      return placesFor(root, candidates)
    },
  }
}

/** All of them, or those who are called so without regard to case. */
function ownersIn(top: Directory, topOwner: string | undefined, only?: string): Set<string> {
  const isAsked = (owner: string) =>
    only === undefined || owner.toLowerCase() === only.toLowerCase()
  const directories = top.entries.filter((e) => e.isDirectory() && !isNamedAsRepository(e))
  const owners = directories.map(({ name }) => name)
  if (topOwner !== undefined) owners.unshift(topOwner)
  return new Set(owners.filter(isAsked))
}

interface Looking {
  top: Directory
  topOwner: string | undefined
  read: ReadDirectory
}

/** Where an owner's repositories are: in their directory, and at the top where that is theirs. */
async function foldersOf(root: string, owner: string, { top, topOwner, read }: Looking) {
  const folders: OwnedFolder[] = []
  if (owner === topOwner) folders.push({ owner, path: '', prefix: '', directory: top })
  if (!top.hasDirectory(owner)) return { folders }
  const directory = await read(join(root, owner))
  if ('reason' in directory) return { folders, reason: directory.reason }
  if (isLikeRepository(directory)) return { folders, reason: UNNAMED }
  folders.push({ owner, path: `${owner}/`, prefix: '', directory })
  return { folders }
}

function refusalOf(owner: string, owners: TakenNames) {
  const reason = nameRefusal(owner)
  if (reason !== undefined) return refused(owner, reason)
  const twin = owners.twinOf(owner)
  return twin === undefined || twin === owner ? undefined : caseConflict(owner, twin)
}

/** What is no owner's. */
async function* outsideOwners(
  root: string,
  top: Directory,
  topOwner: string | undefined,
): FoundPlaces {
  for (const entry of top.entries) {
    if (isNamedAsRepository(entry)) {
      if (topOwner === undefined) yield refused(entry.name, AT_THE_TOP)
    } else if (entry.isSymbolicLink() && (await isLinkToDirectory(join(root, entry.name)))) {
      yield refused(entry.name, A_LINK)
    }
  }
}
