import { hash } from 'node:crypto'
import type { SourceFacts } from '../../source.ts'
import type { RepositoryDirectory } from '../repository-directory.ts'
import { type Gitolite, openGitolite } from './gitolite.ts'
import { findGitolite } from './loaded-conf.ts'

type GitoliteRights = Awaited<ReturnType<typeof readRights>>

/** Returns the gitolite that controls a directory of repositories. `refresh` repeats the search. */
export type FindGitolite = (options?: { refresh?: boolean }) => Promise<Gitolite | undefined>

export function gitoliteFinder(root: string): FindGitolite {
  let known: { admin: string; gitolite: Gitolite } | undefined
  let search: Promise<Gitolite | undefined> | undefined

  async function find(): Promise<Gitolite | undefined> {
    const admin = await findGitolite(root)
    if (admin === undefined) known = undefined
    else if (known?.admin !== admin) known = { admin, gitolite: openGitolite(admin, root) }
    return known?.gitolite
  }

  return ({ refresh = false } = {}) => {
    if (refresh || !search) search = find()
    return search
  }
}

/** The stamp changes with the other results. Rejects with Unreadable. */
export async function readRights(gitolite: Gitolite, directory: RepositoryDirectory) {
  const collaborators = await gitolite.collaborators(directory)
  const isOwnerUser = await gitolite.isUser(directory.owner)
  const stamp = hash('sha256', JSON.stringify([collaborators, isOwnerUser]), 'base64url')
  return { collaborators, isOwnerUser, stamp }
}

/**
 * Returns why a repository is refused. An owner has every permission in Godwit, so a repository in the directory of a gitolite user is
 * listed only if gitolite gives that user every permission too.
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

/** Adds gitolite's collaborators to the facts. Those in the repository's own config take precedence. */
export function addRights(facts: SourceFacts, rights: GitoliteRights): SourceFacts {
  const configured = new Set(facts.collaborators.map(({ login }) => login.toLowerCase()))
  const others = rights.collaborators.filter(({ login }) => !configured.has(login.toLowerCase()))
  return {
    ...facts,
    collaborators: [...others, ...facts.collaborators],
    ...(!rights.isOwnerUser && { ownerIsOrganization: true as const }),
  }
}
