import type { Dirent } from 'node:fs'
import { type Directory, isNamedAsRepository, readDirectory, readRoot } from '../directory.ts'
import { MEMBERS_FILE } from '../members-file.ts'
import { nameOf } from '../repository-directory.ts'
import { anyDepth } from './any-depth.ts'
import type { FoundPlaces, Layout, ListingOptions } from './layout.ts'
import { outOfPlace, ownerAndName } from './owner-and-name.ts'
import { type Candidate, isWikiName, placesFor, settled } from './same-names.ts'

export interface LayoutOptions {
  kind: 'owner/name' | 'flat' | 'any-depth'
  /** Whose the repositories are that lie in no owner's directory. */
  owner?: string | undefined
  /** Whether a name may stand for a directory in lower case: a forge keeps its repositories so, however it spells them. */
  mayBeLowerCase?: boolean
}

export function layoutOf(root: string, { kind, owner, mayBeLowerCase }: LayoutOptions): Layout {
  if (kind === 'owner/name') return ownerAndName(root, mayBeLowerCase)
  if (kind === 'any-depth') return anyDepth(root, owner)
  if (owner === undefined) throw new Error('the flat layout needs an owner')
  return flat(root, owner)
}

const OUT_OF_PLACE = 'a repository must be at NAME.git (--layout flat)'

/** Repositories at NAME.git, all of one owner. */
function flat(root: string, owner: string): Layout {
  const isOwner = (login: string) => login.toLowerCase() === owner.toLowerCase()

  async function* list({ only, read = readDirectory }: ListingOptions = {}): FoundPlaces {
    const top = await readRoot(root, read)
    if (only && !isOwner(only.owner)) return
    if (!only) yield* outOfPlace(root, '', top, OUT_OF_PLACE)
    if (top.has(MEMBERS_FILE)) yield { membersOf: owner, path: MEMBERS_FILE }
    yield* settled(root, candidatesIn(top, owner, only?.name))
  }

  return {
    list,
    async dataPathsOf({ owner: login, name }) {
      const top = await readRoot(root)
      return isOwner(login) ? placesFor(root, candidatesIn(top, owner, name)) : []
    },
  }
}

function candidatesIn(top: Directory, owner: string, only?: string): Candidate[] {
  const isThere = (name: string) => top.has(`${name}.git`)
  const entries: readonly Dirent[] =
    only === undefined ? top.repositories : top.named(`${only}.git`).filter(isNamedAsRepository)
  return entries
    .map((entry) => ({ owner, name: nameOf(entry), path: nameOf(entry), entry }))
    .filter(({ name }) => !isWikiName(name, isThere))
}
