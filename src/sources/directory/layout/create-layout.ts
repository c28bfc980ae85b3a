import { MEMBERS_FILE } from '../members-file.ts'
import { type Directory, nameOf, readDirectory, readRoot } from '../repository-directory.ts'
import { anyDepth } from './any-depth.ts'
import {
  type Candidate,
  candidateDirectories,
  type Layout,
  type LayoutEntries,
  type ListingOptions,
  repositoryEntries,
  resolveCandidates,
} from './layout.ts'
import { misplacedRepositories, ownerAndName } from './owner-and-name.ts'

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

const MISPLACED = 'a repository must be at NAME.git (--layout flat)'

/** Repositories at NAME.git, all of one owner. */
function flat(root: string, owner: string): Layout {
  const isOwner = (login: string) => login.toLowerCase() === owner.toLowerCase()

  async function* list({ only, read = readDirectory }: ListingOptions = {}): LayoutEntries {
    const top = await readRoot(root, read)
    if (only && !isOwner(only.owner)) return
    if (!only) yield* misplacedRepositories(root, '', top, MISPLACED)
    if (top.has(MEMBERS_FILE)) yield { membersOf: owner, path: MEMBERS_FILE }
    yield* resolveCandidates(root, candidatesIn(top, owner, only?.name))
  }

  return {
    list,
    async directoriesOf({ owner: login, name }) {
      const top = await readRoot(root)
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
