import type { Author, DiscussionFact, TeamName } from './fact.ts'

/** As much of a repository's record as discussions need. */
export interface Repository {
  owner: string
  name: string
  description: string | null
  website: string | null
  private: boolean
  /** What follows is undefined where an archive does not say. */
  hasIssues?: boolean | undefined
  hasWiki?: boolean | undefined
  hasDownloads?: boolean | undefined
  archived?: boolean | undefined
  labels: readonly Label[]
  collaborators: readonly { login: string; permission: string }[]
  topics?: readonly Topic[] | undefined
  /** Null in a repository without a commit. */
  defaultBranch: string | null
  createdAt: string
  /** Path in the archive of the bare repository. */
  git: string
  /** Null or undefined where the archive holds no wiki. */
  wiki?: string | null | undefined
}

export interface Label {
  /** Unique within its repository; issues name their labels by it. */
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

export interface Milestone extends DiscussionFact {
  /** Of its own row in its repository; issues name their milestone by it. Gitea has no such number: its id serves. */
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

/** How strictly a rule is meant: `non_admins` binds all but administrators. */
export type Enforcement = 'off' | 'non_admins' | 'everyone'

export interface ProtectedBranch extends DiscussionFact {
  /** A branch, or a pattern of branches such as `release/*`. */
  name: string
  creator: Author
  /** The rules hold for administrators too. */
  adminEnforced: boolean
  allowsForcePushes: boolean
  allowsDeletions: boolean
  /** Only the users and teams that follow may push. */
  authorizedActorsOnly: boolean
  authorizedUsers: readonly string[]
  authorizedTeams: readonly TeamName[]
  reviews: {
    enforcement: Enforcement
    required: boolean
    /** How many must approve. */
    approvals: number
    dismissStaleOnPush: boolean
    byCodeOwners: boolean
    /** Only these may dismiss a review. */
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
