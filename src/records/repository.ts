import { type Author, type RepositoryFact, type TeamName, UNKNOWN_TIME } from './fact.ts'

/** A repository, with those fields of its record that Godwit reads and writes. */
export interface Repository {
  owner: string
  name: string
  description: string | null
  website: string | null
  private: boolean
  /** `hasIssues`, `hasWiki`, `hasDownloads`, `archived` and `template` are undefined if the archive does not have them. */
  hasIssues?: boolean | undefined
  hasWiki?: boolean | undefined
  hasDownloads?: boolean | undefined
  archived?: boolean | undefined
  template?: boolean | undefined
  labels: readonly Label[]
  collaborators: readonly { login: string; permission: string }[]
  topics?: readonly Topic[] | undefined
  /** Null in a repository without commits. */
  defaultBranch: string | null
  createdAt: string
  /** The path of the git repository in the archive. */
  git: string
  /** The path of the wiki's git repository in the archive. Null or undefined if the archive has no wiki. */
  wiki?: string | null | undefined
}

/** A repository about which nothing is known but its name. */
export const UNKNOWN_REPOSITORY: Repository = {
  owner: '',
  name: '',
  description: null,
  website: null,
  private: true,
  labels: [],
  collaborators: [],
  defaultBranch: null,
  createdAt: UNKNOWN_TIME,
  git: '',
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
  /** The name of a branch, or a pattern such as `release/*`. */
  name: string
  creator: Author
  /** Whether the rules apply to administrators too. */
  adminEnforced: boolean
  allowsForcePushes: boolean
  allowsDeletions: boolean
  /** Whether only `authorizedUsers` and `authorizedTeams` may push. */
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
    /** Whether a pull request must be up to date with this branch before it is merged. */
    strict: boolean
    contexts: readonly string[]
  }
  requiresSignatures: boolean
  requiresLinearHistory: boolean
  /** The rule as Gitea or Forgejo returns it, because archives cannot represent all of it. */
  forgeRule?: Readonly<Record<string, unknown>> | undefined
}
