import { repositoryPath } from '../host-url.ts'
import { undefinedIfAbsent } from '../http/confirm-absence.ts'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'
import { listAll } from '../http/pages.ts'
import type { KnownForge } from './client/known-forge.ts'
import {
  type ForgeOrganization,
  type ForgeRepository,
  parseOrganization,
  parseRepository,
} from './forge-repositories.ts'
import { type ForgeUser, parseUser } from './forge-token.ts'
import { isOwnersTeam } from './records/people-records.ts'

/** The permissions of a person on the forge, as an owner, a collaborator or a member of a team. */
export interface ForgePermissions {
  /** The person who has the login now; undefined if the forge has no such user. */
  person: ForgeUser | undefined
  /** Whether the forge does not let the person sign in. */
  isSuspended: boolean
  /** Whether the forge lets the person read none of the repositories that it lists, because it requires a second factor. */
  isRefused: boolean
  repositories: (ForgeRepository & { permission: 'read' | 'write' | 'admin' })[]
  organizations: (ForgeOrganization & { role: 'owner' | 'member' })[]
}

const NOBODY = {
  person: undefined,
  isSuspended: false,
  isRefused: false,
  repositories: [],
  organizations: [],
}

export interface KnownPerson {
  login: string
  /** The id on the forge, if it is known. */
  id: number | null
}

/**
 * Returns the permissions of a person. A person who was renamed on the forge is found by id. If the forge has no user with that id,
 * the result is about the person who has the login now. Rejects with HostUnavailable or HostRequestFailed.
 */
export async function readPermissions(
  forge: KnownForge,
  { login, id }: KnownPerson,
  signal: AbortSignal,
): Promise<ForgePermissions> {
  const permissions = await permissionsOf(forge, login, signal)
  if (id === null || permissions.person?.id === id) return permissions
  const newLogin = await findLogin(forge, id, signal)
  return newLogin === undefined ? permissions : permissionsOf(forge, newLogin, signal)
}

async function findLogin({ client }: KnownForge, id: number, signal: AbortSignal) {
  const { body } = await client.get('/users/search', { uid: id }, signal)
  const user = json
    .objects(json.objectOf(body), 'data')
    .find((each) => json.integer(each, 'id') === id)
  return user && parseUser(user, client.url).login
}

/**
 * Sends the requests as the person (`sudo`), which an administrator's token may do, so that the forge itself computes the
 * permissions. It takes one request for every 50 repositories, one for one of them, one for the teams, and one for the user, because
 * the login may belong to another person now.
 */
async function permissionsOf(forge: KnownForge, login: string, signal: AbortSignal) {
  const { client, paging } = forge
  const query = { sudo: login }
  const list = (path: string) => listAll(client, { path, query, ...paging }, signal)
  const read = async (): Promise<ForgePermissions> => {
    const { body } = await client.get('/user', query, signal)
    const person = parseUser(body, client.url)
    let repositories = (await list('/user/repos')).flatMap(parsePermission)
    let isRefused = await isHidden(repositories)
    if (isRefused) {
      // The repository may have been deleted meanwhile.
      repositories = (await list('/user/repos')).flatMap(parsePermission)
      isRefused = await isHidden(repositories)
    }
    const known = { person, isRefused, isSuspended: isSuspended(json.objectOf(body)) }
    if (isRefused) return { ...known, repositories: [], organizations: [] }
    const teams = await list('/user/teams')
    return { ...known, repositories, organizations: parseMemberships(teams) }
  }
  /** Returns whether the person may not read the first of the listed repositories. */
  const isHidden = async ([first]: ForgePermissions['repositories']) => {
    if (!first || !forge.can.enforcedSecondFactor) return false
    const request = () => client.get(repositoryPath(first), query, signal)
    return (await undefinedIfAbsent(client, request, signal)) === undefined
  }
  return (await undefinedIfAbsent(client, read, signal)) ?? NOBODY
}

/** A forge that hides these fields sends `active: false` as well, but then the time of the last sign-in is not set. */
const isSuspended = (user: Json): boolean =>
  json.boolean(user, 'prohibit_login') ||
  (user.active === false && /^(19|20)/.test(json.string(user, 'last_login')))

const PERMISSIONS = [
  ['admin', 'admin'],
  ['push', 'write'],
  ['pull', 'read'],
] as const

function parsePermission(entry: Json): ForgePermissions['repositories'] {
  const granted = json.object(entry, 'permissions') ?? {}
  const highest = PERMISSIONS.find(([field]) => json.boolean(granted, field))
  if (!highest) return []
  return parseRepository(entry).map((repository) => ({ ...repository, permission: highest[1] }))
}

/** Every member of an organization is in at least one of its teams. */
function parseMemberships(teams: readonly Json[]): ForgePermissions['organizations'] {
  const memberships = new Map<number, ForgePermissions['organizations'][number]>()
  for (const team of teams)
    for (const organization of parseOrganization(json.object(team, 'organization') ?? {}))
      if (memberships.get(organization.id)?.role !== 'owner')
        memberships.set(organization.id, {
          ...organization,
          role: isOwnersTeam(team) ? 'owner' : 'member',
        })
  return [...memberships.values()]
}
