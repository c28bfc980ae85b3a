import type { Discussion, DiscussionCategory, Issue, IssueComment, IssueEvent } from './issue.ts'
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
 * Every kind of fact by the name of its files, such as `issues_000001.json`, in the order of writing: the target of a link comes
 * before the link.
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
  discussion_categories: DiscussionCategory
  discussions: Discussion
  releases: Release
  protected_branches: ProtectedBranch
  attachments: Attachment
  repository_files: RepositoryFile
}

export type FactKind = keyof FactsByKind

/** The excluded kinds do not exist on forges, so they are only read. */
export type WrittenKind = Exclude<
  FactKind,
  'bots' | 'discussion_categories' | 'discussions' | 'repository_files'
>

/** Issues, pull requests and releases with everything that belongs to them, in the order of the archive's files. */
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
