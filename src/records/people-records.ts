import {
  anyString,
  booleanOrFalse,
  type FieldReader,
  listOrEmpty,
  objectOf,
  stringOrNull,
  timeOrUnknown,
  withDefault,
} from './field-reader.ts'
import * as url from './parse-urls.ts'
import type { Email, Organization, Team, User } from './people.ts'
import type { RecordUrls } from './record-urls.ts'

export function readUser(field: FieldReader): User {
  return {
    login: field('login', anyString),
    name: field('name', stringOrNull),
    bio: field('bio', stringOrNull),
    company: field('company', stringOrNull),
    website: field('website', stringOrNull),
    location: field('location', stringOrNull),
    emails: field('emails', listOrEmpty(email)),
    avatar: field('avatar_url', stringOrNull),
    createdAt: field('created_at', timeOrUnknown),
  }
}

const email = objectOf(
  (field): Email => ({
    address: field('address', anyString),
    primary: field('primary', booleanOrFalse),
    verified: field('verified', booleanOrFalse),
  }),
)

export function userRecord(user: User, urls: RecordUrls) {
  return {
    type: 'user',
    url: urls.person(user.login),
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
    name: field('name', stringOrNull),
    description: field('description', stringOrNull),
    website: field('website', stringOrNull),
    location: field('location', stringOrNull),
    email: field('email', stringOrNull),
    members: field('members', listOrEmpty(organizationMember)),
    createdAt: field('created_at', timeOrUnknown),
  }
}

const organizationMember = objectOf((field) => ({
  login: field('user', url.login),
  role: field('role', anyString),
  state: field('state', withDefault(anyString, 'active')),
}))

export function organizationRecord(organization: Organization, urls: RecordUrls) {
  return {
    type: 'organization',
    url: urls.person(organization.login),
    login: organization.login,
    name: organization.name,
    description: organization.description,
    website: organization.website,
    location: organization.location,
    email: organization.email,
    members: organization.members.map((member) => ({
      user: urls.person(member.login),
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
    ...field('url', url.team),
    name: field('name', anyString),
    description: field('description', stringOrNull),
    privacy: field('privacy', withDefault(anyString, 'closed')),
    parent: field('parent_team', url.orNull(url.team))?.slug ?? null,
    permissions: field('permissions', listOrEmpty(teamPermission)),
    members: field('members', listOrEmpty(teamMember)),
    createdAt: field('created_at', timeOrUnknown),
  }
}

const teamPermission = objectOf((field) => ({
  repository: field('repository', url.repositoryName),
  access: field('access', anyString),
}))

const teamMember = objectOf((field) => ({
  login: field('user', url.login),
  role: field('role', withDefault(anyString, 'member')),
}))

export function teamRecord(team: Team, urls: RecordUrls) {
  const { organization, parent } = team
  return {
    type: 'team',
    url: urls.team(team),
    organization: urls.person(organization),
    parent_team: parent === null ? null : urls.team({ organization, slug: parent }),
    name: team.name,
    description: team.description,
    privacy: team.privacy,
    permissions: team.permissions.map(({ repository, access }) => ({
      repository: urls.repository(repository),
      access,
    })),
    members: team.members.map(({ login, role }) => ({ user: urls.person(login), role })),
    created_at: team.createdAt,
  }
}
