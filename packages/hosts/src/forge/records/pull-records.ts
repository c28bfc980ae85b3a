import type { Reaction } from '@godwit/archive/records/issue'
import type {
  PullRequest,
  PullRequestHead,
  Review,
  ReviewComment,
  ReviewRequest,
  ReviewState,
  ReviewThread,
} from '@godwit/archive/records/pull-request'
import { NO_COMMIT, type Reviewer } from '@godwit/archive/records/record'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { commonRecords } from './issue-records.ts'
import { reviewerOf } from './people-records.ts'

export interface PullResponses {
  /** `owner/name` */
  repository: string
  issue: Json
  pull: Json
  reviews: readonly Json[]
}

export function pullRecord(responses: PullResponses, reactions: readonly Reaction[]): PullRequest {
  const { repository, issue, pull } = responses
  const base = json.object(pull, 'base') ?? {}
  const isMerged = json.boolean(pull, 'merged')
  const isOpen = json.string(pull, 'state') === 'open'
  // As `sha` the forge sends the branch's current head, which contains a merged pull request, or nothing if the branch was deleted.
  const baseSha = (isOpen ? null : json.commit(pull, 'merge_base')) ?? json.commit(base, 'sha')
  return {
    repository,
    ...commonRecords(issue, reactions),
    base: {
      ref: json.string(base, 'ref') || json.string(base, 'label'),
      sha: baseSha ?? NO_COMMIT,
    },
    head: headOf(responses),
    reviewRequests: reviewRequests(responses),
    closes: [],
    draft: isDraft(pull),
    mergedAt: isMerged
      ? (json.timeOrNull(pull, 'merged_at') ?? json.timeOrNull(pull, 'closed_at'))
      : null,
    mergeCommit: isMerged ? json.commit(pull, 'merge_commit_sha') : null,
  }
}

/** If the fork was deleted, `ref` is `refs/pull/N/head`, and only `label` has the name of the branch. */
function headOf({ issue, pull }: PullResponses): PullRequestHead {
  const head = json.object(pull, 'head') ?? {}
  const from = json.object(head, 'repo')
  const ref = json.string(head, 'ref')
  return {
    ref: ref.startsWith('refs/') ? json.string(head, 'label') || ref : ref,
    sha: json.commit(head, 'sha') ?? NO_COMMIT,
    owner: from ? json.loginOf(json.object(from, 'owner')) : json.author(issue, 'user'),
    repository: from ? json.stringOrNull(from, 'full_name') : null,
  }
}

/** Versions without the field `draft` mark a draft by its title. */
const isDraft = (pull: Json): boolean =>
  typeof pull.draft === 'boolean'
    ? pull.draft
    : /^\s*(wip:|\[wip\])/i.test(json.string(pull, 'title'))

/** Versions without `requested_reviewers` have a review with the state REQUEST_REVIEW instead. */
function reviewRequests({ repository, pull, reviews }: PullResponses): ReviewRequest[] {
  const [owner = ''] = repository.split('/')
  const requests = new Map<string, ReviewRequest>()
  const add = (reviewer: Reviewer, createdAt: string) => {
    const request = { reviewer, createdAt, updatedAt: createdAt, dismissedAt: null }
    requests.set(JSON.stringify(reviewer), request)
  }
  const createdAt = json.time(pull, 'created_at')
  for (const user of json.objects(pull, 'requested_reviewers'))
    add(reviewerOf(user, undefined, owner), createdAt)
  for (const team of json.objects(pull, 'requested_reviewers_teams'))
    add(reviewerOf(undefined, team, owner), createdAt)
  for (const review of reviews) {
    if (json.string(review, 'state') !== 'REQUEST_REVIEW') continue
    const reviewer = reviewerOf(json.object(review, 'user'), json.object(review, 'team'), owner)
    add(reviewer, json.time(review, 'submitted_at'))
  }
  return [...requests.values()]
}

/** Returns undefined for a pending review, which only its author may see, and for a request for a review. */
export function reviewState(review: Json): ReviewState | undefined {
  const state = STATES[json.string(review, 'state')]
  return state && json.boolean(review, 'dismissed') ? 'dismissed' : state
}

const STATES: Readonly<Record<string, ReviewState>> = {
  APPROVED: 'approved',
  REQUEST_CHANGES: 'changes_requested',
  COMMENT: 'commented',
}

export function reviewRecord(
  { repository, issue }: PullResponses,
  review: Json,
  state: ReviewState,
): Review {
  const submittedAt = json.time(review, 'submitted_at')
  return {
    repository,
    id: json.integer(review, 'id'),
    pull: json.integer(issue, 'number'),
    author: json.author(review, 'user'),
    body: json.string(review, 'body'),
    headSha: json.commit(review, 'commit_id'),
    state,
    reactions: [],
    createdAt: submittedAt,
    submittedAt,
    ...(typeof review.official === 'boolean' && { official: review.official }),
  }
}

export type ReviewComments = { threads: ReviewThread[]; comments: ReviewComment[] }

/**
 * Returns the comments of one review and their threads. Gitea has no threads: it adds a reply to the review of the first comment, and
 * shows comments on the same line together.
 */
export function reviewComments(
  { repository, issue }: PullResponses,
  review: Json,
  comments: readonly Json[],
  reactionsOf: (id: number) => readonly Reaction[],
): ReviewComments {
  const pull = json.integer(issue, 'number')
  const found: ReviewComments = { threads: [], comments: [] }
  const roots = new Map<string, Json>()
  const idOf = (entry: Json) => json.integer(entry, 'id')
  for (const comment of comments.toSorted((a, b) => idOf(a) - idOf(b))) {
    const { line, side } = lineOf(comment)
    const position = diffPositionOf(comment, line)
    const common = { repository, ...position, id: idOf(comment), pull, review: idOf(review) }
    const createdAt = json.time(comment, 'created_at')
    const key = JSON.stringify([position.path, side, line])
    const root = roots.get(key)
    if (!root) {
      roots.set(key, comment)
      const resolver = json.object(comment, 'resolver')
      found.threads.push({
        ...common,
        line,
        side,
        startLine: null,
        startSide: null,
        originalLine: line,
        originalStartLine: null,
        createdAt,
        // Gitea does not send when it was resolved, but resolving updates the comment.
        resolvedAt: resolver ? json.time(comment, 'updated_at') : null,
        resolver: resolver ? json.loginOf(resolver) : null,
      })
    }
    found.comments.push({
      ...common,
      thread: idOf(root ?? comment),
      author: json.author(comment, 'user'),
      body: json.string(comment, 'body'),
      state: 'submitted',
      inReplyTo: root ? idOf(root) : null,
      reactions: reactionsOf(idOf(comment)),
      createdAt,
    })
  }
  return found
}

/** In Gitea `position` is the line in the new file, and `original_position` the line in the old one. */
function lineOf(comment: Json) {
  const [after, before] = [
    json.integer(comment, 'position'),
    json.integer(comment, 'original_position'),
  ]
  const side = after > 0 ? ('right' as const) : ('left' as const)
  return { side, line: after || before || 1 }
}

function diffPositionOf(comment: Json, line: number) {
  const commit = json.commit(comment, 'commit_id')
  // Gitea sends an empty hunk if it could not compute one, and importers reject that.
  const diffHunk = json.string(comment, 'diff_hunk') || `@@ -${line},1 +${line},1 @@\n `
  // The hunk ends with the line that the comment is on.
  const position = diffHunk.replace(/\n$/, '').split('\n').length - 1 || 1
  return {
    diffHunk,
    path: json.string(comment, 'path'),
    position,
    originalPosition: position,
    commit,
    originalCommit: json.commit(comment, 'original_commit_id') ?? commit,
    subjectType: 'line' as const,
  }
}
