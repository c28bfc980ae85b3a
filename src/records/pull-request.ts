import type { Author, DiscussionFact, Reaction, Reviewer } from './fact.ts'

/** Open while `closedAt` is null; merged once `mergedAt` is not. */
export interface PullRequest extends DiscussionFact {
  /** Of the row that issues have too. */
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
  /** Null while it is not merged; undefined in archives from before 2024. */
  mergeCommit?: string | null | undefined
}

export interface PullRequestHead {
  /** The branch's name, without `refs/heads/`. */
  ref: string
  sha: string
  /** Whose branch it is or was. */
  owner: Author
  /** `owner/name`; null once a fork is gone. The commits are in the base's `refs/pull/N/head` all the same. */
  repository: string | null
}

export interface ReviewRequest {
  reviewer: Reviewer
  createdAt: string
  updatedAt: string
  dismissedAt: string | null
}

export interface ClosingReference {
  /** `owner/name` and number of the issue; it may be of another repository. */
  repository: string
  issue: number
  actor: Author
  /** `xref` from words in the body, `manual` by hand. */
  source: string
  createdAt: string
}

export type ReviewState = 'pending' | 'commented' | 'changes_requested' | 'approved' | 'dismissed'

export interface Review extends DiscussionFact {
  id: number
  /** Number of the pull request. */
  pull: number
  author: Author
  body: string | null
  /** The commit that was looked at. */
  headSha: string | null
  state: ReviewState
  reactions: readonly Reaction[]
  /** When it was begun; a host that does not know says `submittedAt`. */
  createdAt: string
  submittedAt: string | null
}

/** `left` is the old file, `right` the new one. */
export type Side = 'left' | 'right'

/** Where in a change something was said. */
export interface DiffPlace {
  /** Never empty: importers refuse that. */
  diffHunk: string
  path: string
  /** Lines below the hunk's first `@@`, in the newest change; null once it is outdated. */
  position: number | null
  /** The same in the change that was commented. */
  originalPosition: number | null
  commit: string | null
  originalCommit: string | null
  /** The kind of thing: undefined in archives from before 2023. */
  subjectType?: 'line' | 'file' | undefined
}

/** A root comment with its answers. REST has none: one is made for each root comment. */
export interface ReviewThread extends DiscussionFact, DiffPlace {
  id: number
  pull: number
  /** Id of the review it began with. */
  review: number | null
  /** Lines of the file on `side`; null once it is outdated. */
  line: number | null
  side: Side
  /** The first of several lines; null where there is one. */
  startLine: number | null
  startSide: Side | null
  originalLine: number | null
  originalStartLine: number | null
  createdAt: string
  resolvedAt: string | null
  resolver: Author
  /** Undefined where an archive does not say. */
  outdated?: boolean | undefined
}

export interface ReviewComment extends DiscussionFact, DiffPlace {
  id: number
  pull: number
  review: number | null
  thread: number | null
  author: Author
  body: string | null
  /** Not yet sent while it is pending. */
  state: 'pending' | 'submitted'
  /** Id of the comment that it answers; null for the first of a thread. */
  inReplyTo: number | null
  reactions: readonly Reaction[]
  createdAt: string
}

export interface CommitComment extends DiscussionFact {
  id: number
  commit: string
  author: Author
  body: string | null
  /** Null where the whole commit is meant. */
  path: string | null
  position: number | null
  reactions: readonly Reaction[]
  createdAt: string
}
