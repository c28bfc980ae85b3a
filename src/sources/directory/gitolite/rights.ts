import { createHash } from 'node:crypto'
import type { Collaborator, SourceFacts } from '../../source.ts'
import type { RepositoryDirectory } from '../repository-directory.ts'
import { findGitolite } from './find-gitolite.ts'
import { type Gitolite, openGitolite } from './gitolite.ts'

export interface GitoliteRights {
  collaborators: Collaborator[]
  isOwnerUser: boolean
  /** Changes whenever they do. */
  stamp: string
}

/** The gitolite that rules over a directory of repositories, looked for again where that is asked. */
export type GitoliteFor = (how?: { again?: boolean }) => Promise<Gitolite | undefined>

export function gitoliteFor(root: string): GitoliteFor {
  let known: { admin: string; gitolite: Gitolite } | undefined
  let looked: Promise<Gitolite | undefined> | undefined

  async function look(): Promise<Gitolite | undefined> {
    const admin = await findGitolite(root)
    if (admin === undefined) known = undefined
    else if (known?.admin !== admin) known = { admin, gitolite: openGitolite(admin, root) }
    return known?.gitolite
  }

  return ({ again = false } = {}) => {
    if (again || !looked) looked = look()
    return looked
  }
}

export async function rightsIn(
  gitolite: Gitolite,
  place: RepositoryDirectory,
): Promise<GitoliteRights> {
  const collaborators = await gitolite.collaborators(place)
  const isOwnerUser = await gitolite.isUser(place.owner)
  const stamp = createHash('sha256').update(JSON.stringify([collaborators, isOwnerUser]))
  return { collaborators, isOwnerUser, stamp: stamp.digest('base64url') }
}

/**
 * An owner has every right here. So a repository in the directory of a user of gitolite is taken only where gitolite lets that
 * user do everything too.
 */
export function ownerRefusal(
  { owner }: RepositoryDirectory,
  rights: GitoliteRights,
): string | undefined {
  if (!rights.isOwnerUser) return undefined
  const own = rights.collaborators.find(({ login }) => login.toLowerCase() === owner.toLowerCase())
  if (own?.permission === 'admin') return undefined
  return `${owner} would own it here, but gitolite does not give ${owner} RW+`
}

/** What the repository's own config says of a person comes before what gitolite says. */
export function withRights(facts: SourceFacts, rights: GitoliteRights): SourceFacts {
  const stated = new Set(facts.collaborators.map(({ login }) => login.toLowerCase()))
  const others = rights.collaborators.filter(({ login }) => !stated.has(login.toLowerCase()))
  const collaborators = [...others, ...facts.collaborators]
  return {
    ...facts,
    collaborators,
    ...(!rights.isOwnerUser && { ownerIsOrganization: true as const }),
  }
}
