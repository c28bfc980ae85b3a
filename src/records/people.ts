import { type TeamName, UNKNOWN_TIME } from './fact.ts'

/** A person or a bot. Both have the same fields, but separate files in an archive. */
export interface User {
  login: string
  name: string | null
  bio: string | null
  company: string | null
  website: string | null
  location: string | null
  /** In GitHub's archives, only the owner of the migration has email addresses. */
  emails: readonly Email[]
  /** The URL of the picture, on any host. */
  avatar: string | null
  createdAt: string
}

/** A user of whom only the login is known: a deleted or private account. */
export const unknownUser = (login: string): User => ({
  login,
  name: null,
  bio: null,
  company: null,
  website: null,
  location: null,
  emails: [],
  avatar: null,
  createdAt: UNKNOWN_TIME,
})

export interface Email {
  address: string
  primary: boolean
  verified: boolean
}

export interface Organization {
  login: string
  name: string | null
  description: string | null
  website: string | null
  location: string | null
  email: string | null
  members: readonly OrganizationMember[]
  createdAt: string
}

export interface OrganizationMember {
  login: string
  /** `admin` owns the organization. Never derived from permissions on a repository. */
  role: string
  /** `active`, or `pending` until the invitation is accepted. */
  state: string
}

export interface Team extends TeamName {
  name: string
  description: string | null
  /** `closed`: visible to the organization. `secret`: visible to its members. */
  privacy: string
  parent: string | null
  permissions: readonly TeamPermission[]
  members: readonly TeamMember[]
  createdAt: string
}

export interface TeamPermission {
  /** `owner/name`. The repository need not be in the archive. */
  repository: string
  /** pull, triage, push, maintain or admin. */
  access: string
}

export interface TeamMember {
  login: string
  /** `member` or `maintainer`. */
  role: string
}
