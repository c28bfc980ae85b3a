import type { Author, RepositoryFact, TeamName } from './fact.ts'

/** The fields of a repository's record that issues and pull requests need. */
export interface Repository {
  owner: string
  name: string
  description: string | null
  website: string | null
  private: boolean
  /** These four are undefined if the archive does not have them. */
  hasIssues?: boolean | undefined
  hasWiki?: boolean | undefined
  hasDownloads?: boolean | undefined
  archived?: boolean | undefined
  labels: readonly Label[]
  collaborators: readonly { login: string; permission: string }[]
  topics?: readonly Topic[] | undefined
  /** Null in a repository without commits. */
  defaultBranch: string | null
  createdAt: string
  git: string
  /** Null or undefined if the archive has no wiki. */
  wiki?: string | null | undefined
}

export interface Label {
  /** Unique in its repository. Issues refer to labels by name. */
  name: string
  /** Six hex digits without `#`. */
  color: string
  description: string | null
  createdAt: string
}

export interface Topic {
  name: string
  creator: Author
  createdAt: string
  updatedAt: string
}

export interface Milestone extends RepositoryFact {
  /** Unique in its repository. Issues refer to milestones by number. Gitea has no such number, so its id is used. */
  number: number
  author: Author
  title: string
  description: string | null
  state: 'open' | 'closed'
  dueOn: string | null
  createdAt: string
  updatedAt: string
  closedAt: string | null
}

export type Enforcement = 'off' | 'non_admins' | 'everyone'

export interface ProtectedBranch extends RepositoryFact {
  /** A branch, or a pattern of branches such as `release/*`. */
  name: string
  creator: Author
  /** The rules apply to administrators too. */
  adminEnforced: boolean
  allowsForcePushes: boolean
  allowsDeletions: boolean
  /** Only the following users and teams may push. */
  authorizedActorsOnly: boolean
  authorizedUsers: readonly string[]
  authorizedTeams: readonly TeamName[]
  reviews: {
    enforcement: Enforcement
    required: boolean
    approvals: number
    dismissStaleOnPush: boolean
    byCodeOwners: boolean
    restrictsDismissals: boolean
    dismissalUsers: readonly string[]
    dismissalTeams: readonly TeamName[]
  }
  statusChecks: {
    enforcement: Enforcement
    required: boolean
    /** The branch must be up to date with its base. */
    strict: boolean
    contexts: readonly string[]
  }
  requiresSignatures: boolean
  requiresLinearHistory: boolean
}
