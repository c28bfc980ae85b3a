import { BEGINNING_OF_TIME, type Reviewer } from '../../../records/fact.ts'
import { type Organization, type Team, type User, unknownUser } from '../../../records/people.ts'
import type { Entry } from '../client/forge-pages.ts'
import {
  entryIn,
  entryListIn,
  GHOST,
  loginOf,
  numberIn,
  organizationLogin,
  textIn,
  textOrNull,
  timeIn,
} from '../client/forge-values.ts'

const GHOST_USER: User = { ...unknownUser(GHOST), name: 'Deleted user' }

/** An e-mail address is never among them: only a migration's owner has theirs, and that is not for the forge's reader to tell. */
export function userFact(user: Entry): User {
  if (loginOf(user) === GHOST) return GHOST_USER
  return {
    login: loginOf(user),
    name: textOrNull(user, 'full_name'),
    bio: textOrNull(user, 'description'),
    company: null,
    website: textOrNull(user, 'website'),
    location: textOrNull(user, 'location'),
    emails: [],
    avatar: textOrNull(user, 'avatar_url'),
    createdAt: timeIn(user, 'created'),
  }
}

/** Everyone that a fact was made from: each gets a record of their own. Organizations that own a fork are no people. */
export class People {
  readonly #taken = new Set<string>()
  readonly #met = new Map<string, User>()

  /** Everybody in a part of an answer, however deep, but for owners of repositories. */
  meet(value: unknown): void {
    if (Array.isArray(value)) for (const each of value) this.meet(each)
    else if (typeof value === 'object' && value !== null) this.#meetIn(value as Entry)
  }

  meetGhost(): void {
    this.#add(GHOST_USER)
  }

  /** Those who were met since the last call, and never before. */
  take(): User[] {
    const users = [...this.#met.values()]
    for (const { login } of users) this.#taken.add(login)
    this.#met.clear()
    return users
  }

  #add(user: User): void {
    if (!this.#taken.has(user.login)) this.#met.set(user.login, user)
  }

  #meetIn(entry: Entry): void {
    if (isUser(entry)) this.#add(userFact(entry))
    else
      for (const [name, each] of Object.entries(entry)) {
        if (name === 'user' && each === null) this.meetGhost()
        if (!NOT_PEOPLE.has(name)) this.meet(each)
      }
  }
}

const NOT_PEOPLE = new Set(['repo', 'repository', 'organization', 'ref_issue', 'dependent_issue'])

const isUser = (entry: Entry) =>
  typeof entry.id === 'number' && typeof entry.login === 'string' && 'avatar_url' in entry

export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'team'

export function partyOf(user: Entry | undefined, team: Entry | undefined, owner: string): Reviewer {
  if (!team || user) return { kind: 'user', login: loginOf(user) }
  return {
    kind: 'team',
    organization: organizationOf(team, owner),
    slug: slugOf(textIn(team, 'name')),
  }
}

const organizationOf = (team: Entry, owner: string): string => {
  const said = entryIn(team, 'organization')
  return (said && organizationLogin(said)) || owner
}

/** What a team's permission is called in archives. */
const ACCESS: Readonly<Record<string, string>> = {
  read: 'pull',
  write: 'push',
  admin: 'admin',
  owner: 'admin',
}

export interface OrganizationAnswers {
  organization: Entry
  members: readonly Entry[]
  teams: readonly { team: Entry; members: readonly Entry[] }[]
}

/** Only who is in the team of the owners owns the organization, whatever they may do with repositories. */
export function organizationFact({
  organization,
  members,
  teams,
}: OrganizationAnswers): Organization {
  const owners = new Set(
    teams.filter(({ team }) => isOwners(team)).flatMap(({ members }) => members.map(loginOf)),
  )
  // Who is in a team is a member, though a list of members may leave out who hides that.
  const logins = new Set([members, ...teams.map((each) => each.members)].flat().map(loginOf))
  return {
    login: organizationLogin(organization),
    name: textOrNull(organization, 'full_name'),
    description: textOrNull(organization, 'description'),
    website: textOrNull(organization, 'website'),
    location: textOrNull(organization, 'location'),
    email: null,
    members: [...logins].sort().map((login) => ({
      login,
      role: owners.has(login) ? 'admin' : 'direct_member',
      state: 'active',
    })),
    createdAt: timeIn(organization, 'created'),
  }
}

export const isOwners = (team: Entry) =>
  textIn(team, 'permission') === 'owner' || textIn(team, 'name') === 'Owners'

export const teamFact = (organization: string, team: Entry, members: readonly Entry[]): Team => ({
  organization,
  slug: slugOf(textIn(team, 'name')),
  name: textIn(team, 'name'),
  description: textOrNull(team, 'description'),
  privacy: textIn(team, 'visibility') === 'private' ? 'secret' : 'closed',
  parent: null,
  permissions: [],
  members: members.map((member) => ({
    login: loginOf(member),
    role: isOwners(team) ? 'maintainer' : 'member',
  })),
  createdAt: BEGINNING_OF_TIME,
})

export const teamAccess = (teams: readonly Entry[]): { slug: string; access: string }[] =>
  teams.map((team) => ({
    slug: slugOf(textIn(team, 'name')),
    access: ACCESS[accessOf(team)] ?? 'pull',
  }))

/** Since 1.18 a team may have one permission for each unit, and `none` in all: what it may do with code counts then. */
function accessOf(team: Entry): string {
  const said = textIn(team, 'permission')
  if (said !== 'none' && said !== '') return said
  return textIn(entryIn(team, 'units_map') ?? {}, 'repo.code')
}

export const requestedReviewers = (pull: Entry, owner: string): Reviewer[] => [
  ...entryListIn(pull, 'requested_reviewers').map((user) => partyOf(user, undefined, owner)),
  ...entryListIn(pull, 'requested_reviewers_teams').map((team) => partyOf(undefined, team, owner)),
]

export const idOf = (entry: Entry): number => numberIn(entry, 'id')
