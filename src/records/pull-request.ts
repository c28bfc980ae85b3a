import type { Author, Reaction, RepositoryFact, Reviewer } from './fact.ts'
import type { Issue } from './issue.ts'

/** A pull request is open while `closedAt` is null, and merged if `mergedAt` is set. */
export interface PullRequest extends Omit<Issue, 'updatedAt'> {
  /** `sha` is the head of the base branch, or what it was when the pull request was closed: since then it may contain the commits. */
  base: { ref: string; sha: string }
  head: PullRequestHead
  reviewRequests: readonly ReviewRequest[]
  /** The issues that are closed when the pull request is merged. */
  closes: readonly ClosingReference[]
  draft: boolean
  mergedAt: string | null
  /** The SHA of the merge commit. Null if the pull request is not merged. Undefined in archives from before 2024. */
  mergeCommit?: string | null | undefined
}

export interface PullRequestHead {
  /** The name of the branch, without `refs/heads/`. */
  ref: string
  sha: string
  /** The owner of the repository that has the branch. Set even if that repository was deleted. */
  owner: Author
  /** `owner/name`, or null if the fork was deleted. The base repository still has the commits, in `refs/pull/N/head`. */
  repository: string | null
}

export interface ReviewRequest {
  reviewer: Reviewer
  createdAt: string
  updatedAt: string
  dismissedAt: string | null
}

export interface ClosingReference {
  /** `owner/name` of the issue's repository, which can differ from that of the pull request. */
  repository: string
  /** The number of the issue. */
  issue: number
  actor: Author
  /** `xref` for a keyword in the body, `manual` for a link that a user added. */
  source: string
  createdAt: string
}

/** A fact that belongs to one pull request. */
export interface PullRequestFact extends RepositoryFact {
  /** The number of the pull request. */
  pull: number
}

export type ReviewState = 'pending' | 'commented' | 'changes_requested' | 'approved' | 'dismissed'

export interface Review extends PullRequestFact {
  id: number
  author: Author
  body: string | null
  /** The head of the pull request at the time of the review. */
  headSha: string | null
  state: ReviewState
  reactions: readonly Reaction[]
  /** When the review was started, or `submittedAt` if the host does not know that. */
  createdAt: string
  submittedAt: string | null
  /** Whether it counts for the protection of the branch. Undefined if the host does not say so. */
  official?: boolean | undefined
}

/** The side of a diff: `left` is the old file, `right` is the new file. */
export type Side = 'left' | 'right'

/** The position of a comment in a diff. */
export interface DiffPosition {
  /** Exports never leave it empty, because importers reject that. Empty if it is missing in an archive that is read. */
  diffHunk: string
  path: string
  /** The number of lines below the first `@@` in the current diff. Null if the comment is outdated. */
  position: number | null
  /** The number of lines below the first `@@` in the diff that was commented on. */
  originalPosition: number | null
  commit: string | null
  originalCommit: string | null
  /** Undefined in archives from before 2023. */
  subjectType?: 'line' | 'file' | undefined
}

/** A root comment with its replies. The REST API has no threads, so a thread is created for each root comment. */
export interface ReviewThread extends PullRequestFact, DiffPosition {
  id: number
  /** The id of the review that started the thread. */
  review: number | null
  /** The line number in the file on `side`; the last line if there are several. Null if the thread is outdated. */
  line: number | null
  side: Side
  /** The first line if the thread is about several lines. Null for a single line. */
  startLine: number | null
  startSide: Side | null
  originalLine: number | null
  originalStartLine: number | null
  createdAt: string
  resolvedAt: string | null
  /** The account that resolved the thread. */
  resolver: Author
  outdated?: boolean | undefined
}

export interface ReviewComment extends PullRequestFact, DiffPosition {
  id: number
  /** The id of the review that the comment belongs to. */
  review: number | null
  /** The id of the thread that the comment belongs to. */
  thread: number | null
  author: Author
  body: string | null
  /** A pending comment belongs to a review that has not been submitted yet. */
  state: 'pending' | 'submitted'
  /** The id of the comment that this one replies to. Null for the first comment of a thread. */
  inReplyTo: number | null
  reactions: readonly Reaction[]
  createdAt: string
}

export interface CommitComment extends RepositoryFact {
  id: number
  /** The SHA of the commit. */
  commit: string
  author: Author
  body: string | null
  /** Null for a comment on the whole commit. */
  path: string | null
  /** The number of lines below the first `@@` in the diff of the file. */
  position: number | null
  reactions: readonly Reaction[]
  createdAt: string
}
