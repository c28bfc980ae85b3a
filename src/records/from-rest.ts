import type { Author, Discussed, Reaction } from './fact.ts'
import type { Issue, IssueComment } from './issue.ts'
import type { PullRequest, Review, ReviewState } from './pull-request.ts'
import type { Release, ReleaseAsset } from './release.ts'
import type { Label, Milestone } from './repository.ts'
import type {
  RestBranch,
  RestComment,
  RestDiscussed,
  RestLabel,
  RestMilestone,
  RestPullRequest,
  RestReaction,
  RestRelease,
  RestReview,
  RestUser,
} from './rest-shapes.ts'

/** Stands for every account that is gone. */
const GHOST = 'ghost'

/** Somebody wrote it, so that nobody means that the account is gone. */
export function authorFromRest(user: RestUser | null | undefined): string {
  return user && user.login !== '' && (user.id ?? 0) >= 0 ? user.login : GHOST
}

export function reactionFromRest({ user, content, created_at }: RestReaction): Reaction {
  return { author: authorFromRest(user), content, createdAt: created_at }
}

/** REST does not say when a label was made: its repository's time must do. */
export function labelFromRest(label: RestLabel, repositoryCreatedAt: string): Label {
  return {
    name: label.name,
    color: label.color.replace(/^#/, '').toLowerCase(),
    description: label.description ?? null,
    createdAt: label.created_at ?? repositoryCreatedAt,
  }
}

export function milestoneFromRest(repository: string, milestone: RestMilestone): Milestone {
  return {
    repository,
    number: milestoneNumberOf(milestone),
    author: milestone.creator ? authorFromRest(milestone.creator) : null,
    title: milestone.title,
    description: milestone.description ?? null,
    state: milestone.state,
    dueOn: milestone.due_on ?? null,
    createdAt: milestone.created_at,
    updatedAt: milestone.updated_at ?? milestone.created_at,
    closedAt: milestone.closed_at ?? null,
  }
}

const milestoneNumberOf = ({ number, id }: Pick<RestMilestone, 'id' | 'number'>): number =>
  number ?? id

export function issueFromRest(
  repository: string,
  issue: RestDiscussed,
  reactions: readonly RestReaction[],
): Issue {
  return {
    repository,
    ...discussedFromRest(issue, reactions),
    createdAt: issue.created_at,
    updatedAt: issue.updated_at,
  }
}

function discussedFromRest(discussed: RestDiscussed, reactions: readonly RestReaction[]) {
  const assignees = discussed.assignees ?? (discussed.assignee ? [discussed.assignee] : [])
  return {
    number: discussed.number,
    author: authorFromRest(discussed.user),
    title: discussed.title,
    body: discussed.body ?? null,
    assignees: assignees.map(authorFromRest),
    milestone: discussed.milestone ? milestoneNumberOf(discussed.milestone) : null,
    labels: (discussed.labels ?? []).map(({ name }) => name),
    reactions: reactions.map(reactionFromRest),
    closedAt: discussed.closed_at ?? null,
  }
}

export function issueCommentFromRest(
  repository: string,
  on: Discussed,
  comment: RestComment,
  reactions: readonly RestReaction[],
): IssueComment {
  return {
    repository,
    id: comment.id,
    on,
    author: authorFromRest(comment.user),
    body: comment.body ?? null,
    reactions: reactions.map(reactionFromRest),
    createdAt: comment.created_at,
  }
}

/** Who was asked for a review, and which issues it closes, is in other answers, if in any. */
export function pullRequestFromRest(
  repository: string,
  pull: RestPullRequest,
  reactions: readonly RestReaction[],
): PullRequest {
  const mergedAt = pull.merged_at ?? null
  return {
    repository,
    ...discussedFromRest(pull, reactions),
    base: { ref: pull.base.ref, sha: pull.base.sha },
    head: {
      ref: pull.head.ref,
      sha: pull.head.sha,
      owner: ownerOfHead(pull.head),
      repository: pull.head.repo?.full_name ?? null,
    },
    reviewRequests: [],
    closes: [],
    draft: pull.draft ?? false,
    mergedAt,
    createdAt: pull.created_at,
    // Of an open one it is the commit of a merge that was only tried.
    mergeCommit: mergedAt === null ? null : (pull.merge_commit_sha ?? null),
  }
}

function ownerOfHead({ user, repo }: RestBranch): Author {
  return authorFromRest(user ?? repo?.owner)
}

const REVIEW_STATES: Readonly<Record<string, ReviewState>> = {
  PENDING: 'pending',
  COMMENT: 'commented',
  COMMENTED: 'commented',
  REQUEST_CHANGES: 'changes_requested',
  CHANGES_REQUESTED: 'changes_requested',
  APPROVED: 'approved',
  DISMISSED: 'dismissed',
}

/** Undefined of what is no review: Gitea lists requests for one among them. */
export function reviewFromRest(
  repository: string,
  pull: Pick<RestPullRequest, 'number' | 'created_at'>,
  review: RestReview,
): Review | undefined {
  const state = REVIEW_STATES[review.state]
  if (state === undefined) return undefined
  const submittedAt = review.submitted_at ?? null
  return {
    repository,
    id: review.id,
    pull: pull.number,
    author: authorFromRest(review.user),
    body: review.body ?? null,
    headSha: review.commit_id || null,
    state: review.dismissed ? 'dismissed' : state,
    reactions: [],
    createdAt: submittedAt ?? pull.created_at,
    submittedAt,
  }
}

export function releaseFromRest(
  repository: string,
  release: RestRelease,
  assets: readonly ReleaseAsset[],
): Release {
  return {
    repository,
    tag: release.tag_name,
    author: authorFromRest(release.author),
    name: release.name ?? null,
    body: release.body ?? null,
    draft: release.draft,
    prerelease: release.prerelease,
    target: release.target_commitish,
    assets,
    publishedAt: release.draft ? null : (release.published_at ?? null),
    createdAt: release.created_at,
  }
}
