import type { ForgeData, Repository, User } from './forge-data.ts'
import type { Dialect } from './render.ts'
import { type ForgeResponse, NOT_FOUND } from './responses.ts'

/** What a token may do: `all`, or permissions such as `read:issue`, and `public-only`. */
export type Scopes = readonly string[]

interface Asked {
  world: ForgeData
  dialect: Dialect
  /** The person that the request is sent by, or on behalf of. */
  viewer: User
  scopes: Scopes
  /** Below `/api/v1`. */
  path: string
}

/**
 * Returns the response of Gitea 1.27 and Forgejo 15 to a GET request that the token or the person may not send, or undefined if they
 * may.
 */
export function refusalOf(asked: Asked): ForgeResponse | undefined {
  const { scopes, path } = asked
  const lacking = categoriesOf(path).filter((each) => !allows(scopes, each))
  if (lacking.length > 0) {
    const named = lacking.map((each) => `read:${each}`).join(' ')
    return forbidden(`token does not have at least one of required scope(s): [${named}]`)
  }
  return refusalOfRepository(asked) ?? refusalOfOrganization(asked) ?? refusalOfUser(asked)
}

const forbidden = (message: string): ForgeResponse => ({ status: 403, body: { message } })

const allows = (scopes: Scopes, category: string): boolean =>
  ['all', `read:${category}`, `write:${category}`].some((each) => scopes.includes(each))

function categoriesOf(path: string): string[] {
  if (path === '/user/repos') return ['user', 'repository']
  if (path === '/user/orgs') return ['user', 'organization']
  if (/^\/users?\b/.test(path)) return ['user']
  if (/^\/(?:orgs|teams)\b/.test(path)) return ['organization']
  if (path === '/repos/issues/search') return ['issue']
  if (/^\/repos\/[^/]+\/[^/]+\/(?:issues|labels|milestones)\b/.test(path)) return ['issue']
  if (path.startsWith('/repos')) return ['repository']
  return path.startsWith('/admin') ? ['admin'] : []
}

const isPublicOnly = (scopes: Scopes) => scopes.includes('public-only')

const isOpen = ({ isPrivate, owner }: Repository) => !isPrivate && owner.visibility === 'public'

/** Returns the repositories that `/user/repos` lists. */
export const listedRepositories = ({ world, viewer, scopes }: Omit<Asked, 'path' | 'dialect'>) =>
  [...world.repositories.values()].filter(
    (each) => isInvolved(world, each, viewer) && (!isPublicOnly(scopes) || isOpen(each)),
  )

function refusalOfRepository({ world, viewer, scopes, path }: Asked): ForgeResponse | undefined {
  const [, owner = '', name = ''] = /^\/repos\/([^/]+)\/([^/]+)/.exec(path) ?? []
  const repository = world.findRepository(decodeURIComponent(owner), decodeURIComponent(name))
  if (!repository) return undefined
  const isHidden =
    modeOf(world, repository, viewer) === 0 ||
    world.withoutSecondFactor.has(viewer) ||
    (isPublicOnly(scopes) && !isOpen(repository))
  return isHidden ? NOT_FOUND : undefined
}

function refusalOfOrganization(asked: Asked): ForgeResponse | undefined {
  const { world, dialect, viewer, scopes, path } = asked
  const [, login = '', part = ''] = /^\/orgs\/([^/]+)(?:\/(\w+))?/.exec(path) ?? []
  const organization = world.users.get(decodeURIComponent(login).toLowerCase())
  if (organization?.isOrganization) {
    const isMember = isMemberOf(world, organization, viewer)
    if (organization.visibility === 'private' && !isMember) return NOT_FOUND
    if (isPublicOnly(scopes) && organization.visibility !== 'public')
      return forbidden('token scope is limited to public orgs')
    if (part === 'teams' && !isMember) return forbidden('Must be an organization member')
  }
  const id = Number(/^\/teams\/(\d+)/.exec(path)?.[1])
  const team = [...world.teams.values()].flat().find((each) => each.id === id)
  if (team && !viewer.isAdmin && !team.members.has(viewer)) {
    const [owner] = [...world.teams].find(([, teams]) => teams.includes(team)) ?? ['']
    if (!isOwnerOf(world, world.users.get(owner)!, viewer))
      return forbidden('Must be a team member')
  }
  if (path === '/user/teams' && isPublicOnly(scopes) && isGitea(dialect))
    return forbidden('this endpoint is not available for public-only tokens')
  return undefined
}

/** Forgejo lets such a token read its own user. */
function refusalOfUser({ world, dialect, viewer, scopes, path }: Asked): ForgeResponse | undefined {
  const login = /^\/users\/([^/]+)/.exec(path)?.[1]
  const isOwn = path === '/user' && isGitea(dialect)
  const user = login === undefined ? isOwn && viewer : world.users.get(login.toLowerCase())
  return user && isPublicOnly(scopes) && user.visibility !== 'public'
    ? forbidden('token scope is limited to public users')
    : undefined
}

const isGitea = ({ version }: Dialect) => version.startsWith('1.')

const teamsOf = (world: ForgeData, organization: User) =>
  world.teams.get(organization.login.toLowerCase()) ?? []

export const isMemberOf = (world: ForgeData, organization: User, viewer: User): boolean =>
  viewer.isAdmin || teamsOf(world, organization).some(({ members }) => members.has(viewer))

const isOwnerOf = (world: ForgeData, organization: User, viewer: User): boolean =>
  viewer.isAdmin ||
  teamsOf(world, organization).some(
    ({ permission, members }) => permission === 'owner' && members.has(viewer),
  )

/** Returns the organizations that `/user/orgs` lists. Forgejo lists private ones to every token. */
export const listedOrganizations = ({ world, dialect, viewer, scopes }: Omit<Asked, 'path'>) =>
  [...world.users.values()].filter(
    (each) =>
      each.isOrganization &&
      teamsOf(world, each).some(({ members }) => members.has(viewer)) &&
      !(isPublicOnly(scopes) && isGitea(dialect) && each.visibility !== 'public'),
  )

/** Returns the teams that `/orgs/LOGIN/teams` lists: since 1.26, Gitea shows members only their own teams. */
export function listedTeams(
  { world, dialect, viewer }: Pick<Asked, 'world' | 'dialect' | 'viewer'>,
  organization: User,
) {
  const all = teamsOf(world, organization)
  const isNew = Number(/^1\.(\d+)/.exec(dialect.version)?.[1]) >= 27
  if (!isNew || isOwnerOf(world, organization, viewer)) return all
  return all.filter(({ members }) => members.has(viewer))
}

export const MODES = ['none', 'read', 'write', 'admin', 'owner']

/** Returns the access mode of a user, from all ways in which Gitea grants access to a repository. */
export function modeOf(world: ForgeData, repository: Repository, user: User): number {
  const { owner, collaborators, isPrivate } = repository
  const teams = teamsWith(world, repository)
  const granted = [
    ...teams.filter(({ members }) => members.has(user)).map(({ permission }) => permission),
    collaborators.get(user) ?? 'none',
    owner === user || user.isAdmin ? 'owner' : 'none',
    isPrivate || owner.visibility === 'private' ? 'none' : 'read',
  ]
  return Math.max(...granted.map((mode) => MODES.indexOf(mode)))
}

/** Returns the teams with access to a repository. */
export const teamsWith = (world: ForgeData, repository: Repository) =>
  (world.teams.get(repository.owner.login.toLowerCase()) ?? []).filter(
    ({ repositories }) => repositories?.has(repository) !== false,
  )

const isInvolved = (world: ForgeData, repository: Repository, user: User): boolean =>
  repository.owner === user ||
  repository.collaborators.has(user) ||
  teamsWith(world, repository).some(({ members }) => members.has(user))
