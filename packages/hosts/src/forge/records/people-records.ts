import {
  type Organization,
  type Team,
  type User,
  unknownUser,
} from '@godwit/archive/records/people'
import { type Reviewer, UNKNOWN_TIME } from '@godwit/archive/records/record'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'

export interface Person {
  /** Never changes, unlike the login. It is not positive for the forge's own accounts. */
  id: number
  user: User
}

const GHOST_PERSON: Person = { id: -1, user: { ...unknownUser(json.GHOST), name: 'Deleted user' } }

/** Leaves out the e-mail address, because an archive contains only that of the migration's owner. */
export function personOf(entry: Json): Person {
  if (json.loginOf(entry) === json.GHOST) return GHOST_PERSON
  const user = {
    ...unknownUser(json.loginOf(entry)),
    name: json.stringOrNull(entry, 'full_name'),
    bio: json.stringOrNull(entry, 'description'),
    website: json.stringOrNull(entry, 'website'),
    location: json.stringOrNull(entry, 'location'),
    avatar: json.stringOrNull(entry, 'avatar_url'),
    createdAt: json.time(entry, 'created'),
  }
  return { id: json.integer(entry, 'id'), user }
}

/** Collects the users that appear in responses, because each of them needs a record. */
export class People {
  readonly #taken = new Set<string>()
  readonly #new = new Map<string, Person>()

  /** Adds all users in a part of a response, at any depth, except owners of repositories. */
  collect(value: unknown): void {
    if (Array.isArray(value)) for (const each of value) this.collect(each)
    else if (typeof value === 'object' && value !== null) this.#collectIn(value as Json)
  }

  addGhost(): void {
    this.#add(GHOST_PERSON)
  }

  has(login: string): boolean {
    return this.#taken.has(login) || this.#new.has(login)
  }

  /** Returns the users that no earlier call has returned. */
  takeNew(): Person[] {
    const people = [...this.#new.values()]
    for (const { user } of people) this.#taken.add(user.login)
    this.#new.clear()
    return people
  }

  #add(person: Person): void {
    if (!this.#taken.has(person.user.login)) this.#new.set(person.user.login, person)
  }

  #collectIn(object: Json): void {
    if (isUser(object)) this.#add(personOf(object))
    else
      for (const [name, value] of Object.entries(object)) {
        if (name === 'user' && value === null) this.addGhost()
        if (!NOT_SEARCHED.has(name)) this.collect(value)
      }
  }
}

/** The owner of a fork may be an organization, and other issues are read separately. */
const NOT_SEARCHED = new Set(['repo', 'repository', 'organization', 'ref_issue', 'dependent_issue'])

const isUser = (entry: Json) =>
  typeof entry.id === 'number' && typeof entry.login === 'string' && 'avatar_url' in entry

export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'team'

/** Returns the user, or the team if there is no user. `owner` is the organization of a team that does not name its own. */
export function reviewerOf(
  user: Json | undefined,
  team: Json | undefined,
  owner: string,
): Reviewer {
  if (!team || user) return { kind: 'user', login: json.loginOf(user) }
  const organization = json.organizationLogin(json.object(team, 'organization') ?? {}) || owner
  return { kind: 'team', organization, slug: slugOf(json.string(team, 'name')) }
}

/** GitHub's names of the permissions of a team. */
const GITHUB_PERMISSIONS: Readonly<Record<string, string>> = {
  read: 'pull',
  write: 'push',
  admin: 'admin',
  owner: 'admin',
}

/** The owners of an organization are the members of its team of owners. */
export function organizationRecord(
  organization: Json,
  members: readonly Json[],
  teams: readonly { team: Json; members: readonly Json[] }[],
): Organization {
  const owners = new Set(
    teams
      .filter(({ team }) => isOwnersTeam(team))
      .flatMap(({ members }) => members.map(json.loginOf)),
  )
  // Members may hide their membership from the list of members, but not from the teams.
  const logins = new Set([members, ...teams.map((each) => each.members)].flat().map(json.loginOf))
  return {
    login: json.organizationLogin(organization),
    name: json.stringOrNull(organization, 'full_name'),
    description: json.stringOrNull(organization, 'description'),
    website: json.stringOrNull(organization, 'website'),
    location: json.stringOrNull(organization, 'location'),
    email: null,
    members: [...logins].sort().map((login) => ({
      login,
      role: owners.has(login) ? 'admin' : 'direct_member',
      state: 'active',
    })),
    createdAt: json.time(organization, 'created'),
  }
}

export const isOwnersTeam = (team: Json) =>
  json.string(team, 'permission') === 'owner' || json.string(team, 'name') === 'Owners'

export const teamRecord = (organization: string, team: Json, members: readonly Json[]): Team => ({
  organization,
  slug: slugOf(json.string(team, 'name')),
  name: json.string(team, 'name'),
  description: json.stringOrNull(team, 'description'),
  privacy: json.string(team, 'visibility') === 'private' ? 'secret' : 'closed',
  parent: null,
  permissions: [],
  units: unitsOf(team),
  members: members.map((member) => ({
    login: json.loginOf(member),
    role: isOwnersTeam(team) ? 'maintainer' : 'member',
  })),
  createdAt: UNKNOWN_TIME,
})

export const teamAccess = (teams: readonly Json[]): { slug: string; access: string }[] =>
  teams.filter(mayReadCode).map((team) => ({
    slug: slugOf(json.string(team, 'name')),
    access: GITHUB_PERMISSIONS[permissionOf(team)]!,
  }))

/** Whether members of a team may read code. GitHub has no other permission: a team that may only see issues has none there. */
export const mayReadCode = (team: Json): boolean => permissionOf(team) in GITHUB_PERMISSIONS

/** Returns the permission for code. Since 1.18 a team may have a permission for each unit; before, it lists those that it may use. */
function permissionOf(team: Json): string {
  const permission = json.string(team, 'permission')
  const unit = json.object(team, 'units_map')?.['repo.code']
  if (permission === 'admin' || permission === 'owner') return permission
  if (unit !== undefined) return String(unit)
  const isUsable = !Array.isArray(team.units) || team.units.includes('repo.code')
  return isUsable ? permission : 'none'
}

/** Returns the units that a team may use at least as much as code; undefined for all. */
function unitsOf(team: Json): string[] | undefined {
  const permission = permissionOf(team)
  if (permission === 'admin' || permission === 'owner') return undefined
  const levels = Object.keys(GITHUB_PERMISSIONS)
  const units = json.object(team, 'units_map')
  if (!units) return Array.isArray(team.units) ? json.strings(team, 'units') : undefined
  return Object.keys(units).filter(
    (unit) => levels.indexOf(String(units[unit])) >= levels.indexOf(permission),
  )
}
