import { memoize } from '../../../lib/memoize.ts'
import type { SourceFacts } from '../../source.ts'
import type { RepositoryDirectory } from '../repository-directory.ts'
import { type Gitolite, type GitoliteRights, openGitolite } from './gitolite.ts'
import { findGitolite } from './loaded-conf.ts'

/** Returns the gitolite that controls a directory of repositories. `refresh` repeats the search. */
export type FindGitolite = (options?: { refresh?: boolean }) => Promise<Gitolite | undefined>

export function gitoliteFinder(root: string): FindGitolite {
  const open = memoize(1, (admin: string) => openGitolite(admin, root))
  let search: Promise<Gitolite | undefined> | undefined

  async function find(): Promise<Gitolite | undefined> {
    const admin = await findGitolite(root)
    return admin === undefined ? undefined : open(admin)
  }

  return ({ refresh = false } = {}) => {
    if (refresh || !search) search = find()
    return search
  }
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
