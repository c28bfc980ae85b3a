import type { RepositoryFact } from './fact.ts'
import type { Issue, IssueComment, IssueEvent } from './issue.ts'
import type { Organization, Team, User } from './people.ts'
import type {
  CommitComment,
  PullRequest,
  Review,
  ReviewComment,
  ReviewThread,
} from './pull-request.ts'
import type { Attachment, Release, RepositoryFile } from './release.ts'
import type { Milestone, ProtectedBranch, Repository } from './repository.ts'

/**
 * The type of each kind of fact. The keys are the names of the files in an archive: `issues` are in `issues_000001.json`. The kinds
 * are in the order in which they are written: a record comes after the records that it links to.
 */
export interface FactsByKind {
  users: User
  bots: User
  organizations: Organization
  teams: Team
  repositories: Repository
  milestones: Milestone
  issues: Issue
  issue_comments: IssueComment
  issue_events: IssueEvent
  pull_requests: PullRequest
  pull_request_reviews: Review
  pull_request_review_threads: ReviewThread
  pull_request_review_comments: ReviewComment
  commit_comments: CommitComment
  /** Importers only count GitHub Discussions and their categories, so these facts have no other fields. */
  discussion_categories: RepositoryFact
  discussions: RepositoryFact
  releases: Release
  protected_branches: ProtectedBranch
  attachments: Attachment
  repository_files: RepositoryFile
}

export type FactKind = keyof FactsByKind

/** All kinds, in the order in which they are written. */
export const FACT_KINDS = [
  ...(['users', 'bots', 'organizations', 'teams', 'repositories', 'milestones', 'issues'] as const),
  ...(['issue_comments', 'issue_events', 'pull_requests', 'pull_request_reviews'] as const),
  ...(['pull_request_review_threads', 'pull_request_review_comments', 'commit_comments'] as const),
  ...(['discussion_categories', 'discussions', 'releases', 'protected_branches'] as const),
  ...(['attachments', 'repository_files'] as const),
] satisfies FactKind[]

/** The kinds that are written. Forges do not have the excluded kinds, so these are only read from archives of other exporters. */
export type WrittenKind = Exclude<
  FactKind,
  'bots' | 'discussion_categories' | 'discussions' | 'repository_files'
>

/** Issues, pull requests and releases with everything that belongs to them, in the order in which they are written. */
export const ISSUE_TRACKER_KINDS = [
  'milestones',
  'issues',
  'issue_comments',
  'issue_events',
  'pull_requests',
  'pull_request_reviews',
  'pull_request_review_threads',
  'pull_request_review_comments',
  'commit_comments',
  'releases',
] as const satisfies FactKind[]
