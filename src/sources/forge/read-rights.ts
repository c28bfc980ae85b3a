import { unlessAbsent } from './client/confirm-absence.ts'
import type { ForgeClient } from './client/forge-client.ts'
import { type Entry, type Listing, listAll } from './client/forge-pages.ts'
import { entryIn, flagIn, organizationLogin, textIn } from './client/forge-values.ts'
import { isOwners } from './facts/people-facts.ts'
import { type ForgeRepository, repositoryIn } from './forge-repositories.ts'
import { ownerIn, type TokenOwner } from './token-owner.ts'

/** What a person may do on the forge, by whatever way: as the owner, as a collaborator, in a team. */
export interface ForgeRights {
  /** Who has that login there now; undefined where nobody has. */
  person: TokenOwner | undefined
  /** They may not sign in there. */
  isSuspended: boolean
  repositories: (ForgeRepository & { permission: 'read' | 'write' | 'admin' })[]
  organizations: { login: string; role: 'owner' | 'member' }[]
}

const PAGE = 50

const NOBODY: ForgeRights = {
  person: undefined,
  isSuspended: false,
  repositories: [],
  organizations: [],
}

/**
 * Asked in the person's name, which an administrator's token may do: the forge itself then says what each right comes to. One
 * request for every 50 repositories, one for the teams, one for who it is: a login may have been given to somebody else. Nobody
 * there is nobody who may do anything. Rejects with WaitUntil or ForgeRefused.
 */
export async function readRights(
  client: ForgeClient,
  login: string,
  signal: AbortSignal,
): Promise<ForgeRights> {
  const query = { sudo: login }
  const list = (listing: Pick<Listing, 'path'>) =>
    listAll(client, { ...listing, query, limit: PAGE }, signal)
  const read = async (): Promise<ForgeRights> => {
    const { body } = await client.get('/user', query, signal)
    const repositories = await list({ path: '/user/repos' })
    const teams = await list({ path: '/user/teams' })
    return {
      person: ownerIn(body, client.url),
      isSuspended: isSuspended((body ?? {}) as Entry),
      repositories: repositories.flatMap(rightIn),
      organizations: membershipsIn(teams),
    }
  }
  return (await unlessAbsent(client, read, signal)) ?? NOBODY
}

/** `active` is false too where a forge does not want to say; it then says of no time when they last signed in. */
const isSuspended = (user: Entry): boolean =>
  flagIn(user, 'prohibit_login') ||
  (user.active === false && /^(19|20)/.test(textIn(user, 'last_login')))

function rightIn(entry: Entry): ForgeRights['repositories'] {
  const may = entryIn(entry, 'permissions') ?? {}
  if (!flagIn(may, 'admin') && !flagIn(may, 'push') && !flagIn(may, 'pull')) return []
  const permission = flagIn(may, 'admin') ? 'admin' : flagIn(may, 'push') ? 'write' : 'read'
  return repositoryIn(entry).map((repository) => ({ ...repository, permission }))
}

/** Whoever belongs to an organization of a forge is in one of its teams. */
function membershipsIn(teams: readonly Entry[]): ForgeRights['organizations'] {
  const roles = new Map<string, 'owner' | 'member'>()
  for (const team of teams) {
    const organization = entryIn(team, 'organization') ?? {}
    const login = organizationLogin(organization)
    if (login !== '' && roles.get(login) !== 'owner')
      roles.set(login, isOwners(team) ? 'owner' : 'member')
  }
  return [...roles].map(([login, role]) => ({ login, role }))
}
