import { BEGINNING_OF_TIME, type TeamName } from './fact.ts'

/** A person. A bot is the same, kept in files of its own. */
export interface User {
  login: string
  /** The name that is shown; null or empty where none was given. */
  name: string | null
  bio: string | null
  company: string | null
  website: string | null
  location: string | null
  /** Of a host's own export only the migration's owner has any. */
  emails: readonly Email[]
  /** Where the picture is, wherever that may be; null where there is none. */
  avatar: string | null
  createdAt: string
}

/** Somebody of whom nothing is known but the name: an account that is gone, or one that hides. */
export const unknownUser = (login: string): User => ({
  login,
  name: null,
  bio: null,
  company: null,
  website: null,
  location: null,
  emails: [],
  avatar: null,
  createdAt: BEGINNING_OF_TIME,
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
  /** `admin` owns the organization. Never derived from what somebody may do with a repository. */
  role: string
  /** `active`, or `pending` until an invitation is taken. */
  state: string
}

export interface Team extends TeamName {
  name: string
  description: string | null
  /** `closed`: the organization sees it; `secret`: its members do. */
  privacy: string
  /** The slug of the team above it in the same organization. */
  parent: string | null
  permissions: readonly TeamPermission[]
  members: readonly TeamMember[]
  createdAt: string
}

export interface TeamPermission {
  /** `owner/name`; it need not be in the archive. */
  repository: string
  /** pull, triage, push, maintain or admin. */
  access: string
}

export interface TeamMember {
  login: string
  /** `member` or `maintainer`. */
  role: string
}
