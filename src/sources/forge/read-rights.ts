import { undefinedIfAbsent } from './client/confirm-absence.ts'
import type { ForgeClient } from './client/forge-client.ts'
import { type Listing, listAll } from './client/forge-pages.ts'
import {
  booleanIn,
  integerIn,
  type JsonObject,
  objectIn,
  objectOf,
  objectsIn,
  stringIn,
} from './client/forge-values.ts'
import { isOwners } from './facts/people-facts.ts'
import {
  type ForgeOrganization,
  type ForgeRepository,
  organizationIn,
  repositoryIn,
} from './forge-repositories.ts'
import { ownerIn, type TokenOwner } from './forge-token.ts'

/** What a person may do on the forge, as an owner, a collaborator or a member of a team. */
export interface ForgeRights {
  /** The person who has the login now; undefined if nobody has. */
  person: TokenOwner | undefined
  /** Whether the person may not sign in. */
  isSuspended: boolean
  repositories: (ForgeRepository & { permission: 'read' | 'write' | 'admin' })[]
  organizations: (ForgeOrganization & { role: 'owner' | 'member' })[]
}

const PAGE_SIZE = 50

const NOBODY: ForgeRights = {
  person: undefined,
  isSuspended: false,
  repositories: [],
  organizations: [],
}

export interface KnownPerson {
  login: string
  /** The id on the forge, if it is known. */
  id: number | null
}

/**
 * Returns what a person may do. A person who was renamed on the forge is found by id. If the forge has no user with that id, the
 * result is about the person who has the login now. Rejects with ForgeUnavailable or ForgeRequestFailed.
 */
export async function readRights(
  client: ForgeClient,
  { login, id }: KnownPerson,
  signal: AbortSignal,
): Promise<ForgeRights> {
  const rights = await rightsOf(client, login, signal)
  if (id === null || rights.person?.id === id) return rights
  const newLogin = await findLogin(client, id, signal)
  return newLogin === undefined ? rights : rightsOf(client, newLogin, signal)
}

async function findLogin(
  client: ForgeClient,
  id: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { body } = await client.get('/users/search', { uid: id }, signal)
  const user = objectsIn(objectOf(body), 'data').find((each) => integerIn(each, 'id') === id)
  return user && ownerIn(user, client.url).login
}

/**
 * Sends the requests as the person (`sudo`), which an administrator's token may do, so that the forge itself computes the
 * permissions. It takes one request for every 50 repositories, one for the teams, and one for the user, because the login may
 * belong to another person now.
 */
async function rightsOf(
  client: ForgeClient,
  login: string,
  signal: AbortSignal,
): Promise<ForgeRights> {
  const query = { sudo: login }
  const list = (listing: Pick<Listing, 'path'>) =>
    listAll(client, { ...listing, query, limit: PAGE_SIZE }, signal)
  const read = async (): Promise<ForgeRights> => {
    const { body } = await client.get('/user', query, signal)
    const repositories = await list({ path: '/user/repos' })
    const teams = await list({ path: '/user/teams' })
    return {
      person: ownerIn(body, client.url),
      isSuspended: isSuspended(objectOf(body)),
      repositories: repositories.flatMap(rightIn),
      organizations: membershipsIn(teams),
    }
  }
  return (await undefinedIfAbsent(client, read, signal)) ?? NOBODY
}

/** A forge that hides these fields sends `active: false` as well, but then the time of the last sign-in is not set. */
const isSuspended = (user: JsonObject): boolean =>
  booleanIn(user, 'prohibit_login') ||
  (user.active === false && /^(19|20)/.test(stringIn(user, 'last_login')))

function rightIn(entry: JsonObject): ForgeRights['repositories'] {
  const granted = objectIn(entry, 'permissions') ?? {}
  if (!booleanIn(granted, 'admin') && !booleanIn(granted, 'push') && !booleanIn(granted, 'pull'))
    return []
  const permission = booleanIn(granted, 'admin')
    ? 'admin'
    : booleanIn(granted, 'push')
      ? 'write'
      : 'read'
  return repositoryIn(entry).map((repository) => ({ ...repository, permission }))
}

/** Every member of an organization is in at least one of its teams. */
function membershipsIn(teams: readonly JsonObject[]): ForgeRights['organizations'] {
  const memberships = new Map<number, ForgeRights['organizations'][number]>()
  for (const team of teams)
    for (const organization of organizationIn(objectIn(team, 'organization') ?? {}))
      if (memberships.get(organization.id)?.role !== 'owner')
        memberships.set(organization.id, {
          ...organization,
          role: isOwners(team) ? 'owner' : 'member',
        })
  return [...memberships.values()]
}
