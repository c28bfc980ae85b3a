import type { Author, Reaction, RepositoryFact, Reviewer } from './fact.ts'

/** Open while `closedAt` is null, merged if `mergedAt` is not null. */
export interface PullRequest extends RepositoryFact {
  /** Of the same sequence as the numbers of issues. */
  number: number
  author: Author
  title: string
  body: string | null
  base: { ref: string; sha: string }
  head: PullRequestHead
  assignees: readonly string[]
  milestone: number | null
  labels: readonly string[]
  reactions: readonly Reaction[]
  reviewRequests: readonly ReviewRequest[]
  /** The issues that its merge closes. */
  closes: readonly ClosingReference[]
  draft: boolean
  mergedAt: string | null
  closedAt: string | null
  createdAt: string
  /** Null while it is not merged. Undefined in archives from before 2024. */
  mergeCommit?: string | null | undefined
}

export interface PullRequestHead {
  /** The name of the branch, without `refs/heads/`. */
  ref: string
  sha: string
  /** The owner of the repository with the branch, even if it was deleted. */
  owner: Author
  /** `owner/name`, or null if the fork was deleted. The commits are still in `refs/pull/N/head` of the base. */
  repository: string | null
}

export interface ReviewRequest {
  reviewer: Reviewer
  createdAt: string
  updatedAt: string
  dismissedAt: string | null
}

export interface ClosingReference {
  /** `owner/name` and number of the issue, perhaps of another repository. */
  repository: string
  issue: number
  actor: Author
  /** `xref` for a keyword in the body, `manual` for a link made by hand. */
  source: string
  createdAt: string
}

export type ReviewState = 'pending' | 'commented' | 'changes_requested' | 'approved' | 'dismissed'

export interface Review extends RepositoryFact {
  id: number
  pull: number
  author: Author
  body: string | null
  headSha: string | null
  state: ReviewState
  reactions: readonly Reaction[]
  /** When the review was started, or `submittedAt` if the host does not know that. */
  createdAt: string
  submittedAt: string | null
}

/** `left` is the old file, `right` the new one. */
export type Side = 'left' | 'right'

/** The position of a comment in a diff. */
export interface DiffPosition {
  /** Never empty: importers refuse an empty one. */
  diffHunk: string
  path: string
  /** The line below the first `@@` of the hunk in the current diff. Null if the comment is outdated. */
  position: number | null
  /** The line below the first `@@` of the hunk in the diff that was commented on. */
  originalPosition: number | null
  commit: string | null
  originalCommit: string | null
  /** Undefined in archives from before 2023. */
  subjectType?: 'line' | 'file' | undefined
}

/** A root comment with its replies. The REST API has no threads, so one is made for each root comment. */
export interface ReviewThread extends RepositoryFact, DiffPosition {
  id: number
  pull: number
  /** The id of the review that started the thread. */
  review: number | null
  /** The line of the file on `side`. Null if the thread is outdated. */
  line: number | null
  side: Side
  /** The first line of several. Null for a single line. */
  startLine: number | null
  startSide: Side | null
  originalLine: number | null
  originalStartLine: number | null
  createdAt: string
  resolvedAt: string | null
  resolver: Author
  outdated?: boolean | undefined
}

export interface ReviewComment extends RepositoryFact, DiffPosition {
  id: number
  pull: number
  review: number | null
  thread: number | null
  author: Author
  body: string | null
  /** A pending comment has not been sent yet. */
  state: 'pending' | 'submitted'
  /** The id of the comment that it replies to. Null for the first of a thread. */
  inReplyTo: number | null
  reactions: readonly Reaction[]
  createdAt: string
}

export interface CommitComment extends RepositoryFact {
  id: number
  commit: string
  author: Author
  body: string | null
  /** Null for a comment on the whole commit. */
  path: string | null
  position: number | null
  reactions: readonly Reaction[]
  createdAt: string
}
