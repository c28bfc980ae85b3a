import { list } from '../lib/json-shape.ts'
import type { Email, Organization, Team, User } from './people.ts'
import { linkOrNull, login, repositoryName, team } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import {
  anyBoolean,
  anyString,
  type FieldReader,
  objectOf,
  orElse,
  textOrNull,
  timeOrUnknown,
} from './record-shapes.ts'

export function readUser(field: FieldReader): User {
  return {
    login: field('login', anyString),
    name: field('name', textOrNull),
    bio: field('bio', textOrNull),
    company: field('company', textOrNull),
    website: field('website', textOrNull),
    location: field('location', textOrNull),
    emails: field('emails', orElse(list(email), [])),
    avatar: field('avatar_url', textOrNull),
    createdAt: field('created_at', timeOrUnknown),
  }
}

const email = objectOf(
  (field): Email => ({
    address: field('address', anyString),
    primary: field('primary', orElse(anyBoolean, false)),
    verified: field('verified', orElse(anyBoolean, false)),
  }),
)

export function writeUser(user: User, links: Links) {
  return {
    type: 'user',
    url: links.person(user.login),
    avatar_url: user.avatar,
    login: user.login,
    name: user.name,
    bio: user.bio,
    company: user.company,
    website: user.website,
    location: user.location,
    emails: user.emails,
    social_accounts: [],
    billing_plan: null,
    created_at: user.createdAt,
  }
}

export function readOrganization(field: FieldReader): Organization {
  return {
    login: field('login', anyString),
    name: field('name', textOrNull),
    description: field('description', textOrNull),
    website: field('website', textOrNull),
    location: field('location', textOrNull),
    email: field('email', textOrNull),
    members: field('members', orElse(list(organizationMember), [])),
    createdAt: field('created_at', timeOrUnknown),
  }
}

const organizationMember = objectOf((field) => ({
  login: field('user', login),
  role: field('role', anyString),
  state: field('state', orElse(anyString, 'active')),
}))

export function writeOrganization(organization: Organization, links: Links) {
  return {
    type: 'organization',
    url: links.person(organization.login),
    login: organization.login,
    name: organization.name,
    description: organization.description,
    website: organization.website,
    location: organization.location,
    email: organization.email,
    members: organization.members.map((member) => ({
      user: links.person(member.login),
      role: member.role,
      state: member.state,
    })),
    owners_team: null,
    webhooks: [],
    created_at: organization.createdAt,
  }
}

export function readTeam(field: FieldReader): Team {
  return {
    ...field('url', team),
    name: field('name', anyString),
    description: field('description', textOrNull),
    privacy: field('privacy', orElse(anyString, 'closed')),
    parent: field('parent_team', linkOrNull(team))?.slug ?? null,
    permissions: field('permissions', orElse(list(teamPermission), [])),
    members: field('members', orElse(list(teamMember), [])),
    createdAt: field('created_at', timeOrUnknown),
  }
}

const teamPermission = objectOf((field) => ({
  repository: field('repository', repositoryName),
  access: field('access', anyString),
}))

const teamMember = objectOf((field) => ({
  login: field('user', login),
  role: field('role', orElse(anyString, 'member')),
}))

export function writeTeam(team: Team, links: Links) {
  const { organization, parent } = team
  return {
    type: 'team',
    url: links.team(team),
    organization: links.person(organization),
    parent_team: parent === null ? null : links.team({ organization, slug: parent }),
    name: team.name,
    description: team.description,
    privacy: team.privacy,
    permissions: team.permissions.map(({ repository, access }) => ({
      repository: links.repository(repository),
      access,
    })),
    members: team.members.map(({ login, role }) => ({ user: links.person(login), role })),
    created_at: team.createdAt,
  }
}
