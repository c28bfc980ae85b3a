/**
 * What is read of the REST answers of GitHub, Gitea and Forgejo, which are nearly alike. A field that only some have is
 * optional; what is null or absent says nothing.
 */
export interface RestUser {
  login: string
  /** Gitea: negative for accounts that are gone. */
  id?: number | null
}

export interface RestReaction {
  user: RestUser | null
  content: string
  created_at: string
}

export interface RestLabel {
  name: string
  color: string
  description?: string | null
  /** In no answer of REST so far. */
  created_at?: string | null
}

export interface RestMilestone {
  id: number
  /** GitHub only. */
  number?: number | null
  creator?: RestUser | null
  title: string
  description?: string | null
  state: 'open' | 'closed'
  due_on?: string | null
  created_at: string
  updated_at?: string | null
  closed_at?: string | null
}

/** What issues and pull requests have in common. */
export interface RestDiscussed {
  number: number
  user: RestUser | null
  title: string
  body?: string | null
  assignee?: RestUser | null
  assignees?: readonly RestUser[] | null
  milestone?: Pick<RestMilestone, 'id' | 'number'> | null
  labels?: readonly Pick<RestLabel, 'name'>[] | null
  created_at: string
  updated_at: string
  closed_at?: string | null
}

export interface RestComment {
  id: number
  user: RestUser | null
  body?: string | null
  created_at: string
}

export interface RestPullRequest extends RestDiscussed {
  draft?: boolean | null
  merged_at?: string | null
  merge_commit_sha?: string | null
  base: RestBranch
  head: RestBranch
}

export interface RestBranch {
  ref: string
  sha: string
  /** GitHub only: whose it is, even where the repository is gone. */
  user?: RestUser | null
  repo?: { full_name: string; owner: RestUser } | null
}

export interface RestReview {
  id: number
  user: RestUser | null
  body?: string | null
  state: string
  commit_id?: string | null
  /** Gitea only. */
  dismissed?: boolean | null
  submitted_at?: string | null
}

export interface RestReviewComment extends RestComment {
  pull_request_review_id?: number | null
  diff_hunk: string
  path: string
  commit_id?: string | null
  original_commit_id?: string | null
  /** GitHub only. */
  in_reply_to_id?: number | null
  subject_type?: string | null
}

export interface RestRelease {
  tag_name: string
  author: RestUser | null
  name?: string | null
  body?: string | null
  draft: boolean
  prerelease: boolean
  target_commitish: string
  published_at?: string | null
  created_at: string
}
