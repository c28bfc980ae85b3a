import { text } from '@godwit/lib/json-shape'
import { isEmail, isForeignName } from '@godwit/lib/names'
import type { TeamName } from './record.ts'
import * as field from './record-fields.ts'
import { orNull, team } from './record-urls.ts'

/** The URL of a person or an organization, which is the key of its record. */
const accountUrl = field.written((account: { login: string }, urls) => urls.person(account.login))

const login = text('a login', isForeignName)

/** A person or a bot. Both have the same fields, but separate files in an archive. */
export type User = ReturnType<typeof userRecord>
export const userRecord = field.recordFormat({
  type: field.constant('user'),
  url: accountUrl,
  /** The URL of the picture, on any host. */
  avatar_url: field.named('avatar', field.stringOrNull),
  login,
  name: field.stringOrNull,
  bio: field.stringOrNull,
  company: field.stringOrNull,
  website: field.stringOrNull,
  location: field.stringOrNull,
  /** In GitHub's archives, only the owner of the migration has email addresses. */
  emails: field.listOrEmpty(
    field.recordFormat({
      address: text('an e-mail address', isEmail),
      primary: field.booleanOrFalse,
      verified: field.booleanOrFalse,
    }),
  ),
  social_accounts: field.constant([]),
  billing_plan: field.constant(null),
  created_at: field.timeOrUnknown,
})

/** A user of whom only the login is known: a deleted or private account. */
export const unknownUser = (login: string): User => userRecord({ login }, '')

export type Organization = ReturnType<typeof organizationRecord>
export const organizationRecord = field.recordFormat({
  type: field.constant('organization'),
  url: accountUrl,
  login,
  name: field.stringOrNull,
  description: field.stringOrNull,
  website: field.stringOrNull,
  location: field.stringOrNull,
  email: field.stringOrNull,
  members: field.listOrEmpty(
    field.recordFormat({
      user: field.named('login', field.person),
      /** `admin` owns the organization. Never derived from permissions on a repository. */
      role: field.string,
      /** `active`, or `pending` until the invitation is accepted. */
      state: field.withDefault(field.string, 'active'),
    }),
  ),
  owners_team: field.constant(null),
  webhooks: field.constant([]),
  created_at: field.timeOrUnknown,
})

const teamName: field.Part<TeamName> = {
  read: (read, key) => read(key, team),
  write: (name: TeamName, urls, key) => ({ [key]: urls.team(name) }),
}

export type Team = ReturnType<typeof teamRecord>
export const teamRecord = field.recordFormat({
  type: field.constant('team'),
  url: teamName,
  organization: field.written((name: TeamName, urls) => urls.person(name.organization)),
  /** The slug of a team of the same organization. */
  parent_team: field.named(
    'parent',
    (value, at) => orNull(team)(value, at)?.slug ?? null,
    (slug, urls, { organization }: TeamName) =>
      slug === null ? null : urls.team({ organization, slug }),
  ),
  name: field.string,
  description: field.stringOrNull,
  /** `closed`: visible to the organization. `secret`: visible to its members. */
  privacy: field.withDefault(field.string, 'closed'),
  permissions: field.listOrEmpty(
    field.recordFormat({
      /** The repository need not be in the archive. */
      repository: field.repository,
      /** pull, triage, push, maintain or admin. */
      access: field.string,
    }),
  ),
  /** The parts of its repositories that the team may use, such as `repo.issues`. Only Gitea and Forgejo have it. Undefined: all. */
  units: field.optional(field.list(field.string)),
  members: field.listOrEmpty(
    field.recordFormat({
      user: field.named('login', field.person),
      /** `member` or `maintainer`. */
      role: field.withDefault(field.string, 'member'),
    }),
  ),
  created_at: field.timeOrUnknown,
})
