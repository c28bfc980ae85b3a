import type { Reaction, Reviewer } from '../../../records/fact.ts'
import type {
  PullRequest,
  PullRequestHead,
  Review,
  ReviewComment,
  ReviewRequest,
  ReviewState,
  ReviewThread,
} from '../../../records/pull-request.ts'
import {
  authorIn,
  booleanIn,
  commitIn,
  integerIn,
  type JsonObject,
  loginOf,
  objectIn,
  stringIn,
  stringOrNull,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'
import { commonFacts } from './issue-facts.ts'
import { requestedReviewers, reviewerOf } from './people-facts.ts'

const NO_COMMIT = '0'.repeat(40)

export interface PullResponses {
  /** `owner/name` */
  repository: string
  issue: JsonObject
  pull: JsonObject
  reviews: readonly JsonObject[]
}

export function pullFact(responses: PullResponses, reactions: readonly Reaction[]): PullRequest {
  const { repository, issue, pull } = responses
  const base = objectIn(pull, 'base') ?? {}
  const isMerged = booleanIn(pull, 'merged')
  const isOpen = stringIn(pull, 'state') === 'open'
  // As `sha` the forge sends the branch's current head, which contains a merged pull request, or nothing if the branch was deleted.
  const baseSha = (isOpen ? null : commitIn(pull, 'merge_base')) ?? commitIn(base, 'sha')
  return {
    repository,
    ...commonFacts(issue, reactions),
    base: { ref: stringIn(base, 'ref') || stringIn(base, 'label'), sha: baseSha ?? NO_COMMIT },
    head: headOf(responses),
    reviewRequests: reviewRequests(responses),
    closes: [],
    draft: isDraft(pull),
    mergedAt: isMerged ? (timeOrNull(pull, 'merged_at') ?? timeOrNull(pull, 'closed_at')) : null,
    mergeCommit: isMerged ? commitIn(pull, 'merge_commit_sha') : null,
  }
}

/** If the fork was deleted, `ref` is `refs/pull/N/head`, and only `label` has the name of the branch. */
function headOf({ issue, pull }: PullResponses): PullRequestHead {
  const head = objectIn(pull, 'head') ?? {}
  const from = objectIn(head, 'repo')
  const ref = stringIn(head, 'ref')
  return {
    ref: ref.startsWith('refs/') ? stringIn(head, 'label') || ref : ref,
    sha: commitIn(head, 'sha') ?? NO_COMMIT,
    owner: from ? loginOf(objectIn(from, 'owner')) : authorIn(issue, 'user'),
    repository: from ? stringOrNull(from, 'full_name') : null,
  }
}

/** Versions without the field `draft` mark a draft by its title. */
const isDraft = (pull: JsonObject): boolean =>
  typeof pull.draft === 'boolean' ? pull.draft : /^\s*(wip:|\[wip\])/i.test(stringIn(pull, 'title'))

/** Versions without `requested_reviewers` have a review with the state REQUEST_REVIEW instead. */
function reviewRequests({ repository, pull, reviews }: PullResponses): ReviewRequest[] {
  const [owner = ''] = repository.split('/')
  const requests = new Map<string, ReviewRequest>()
  const add = (reviewer: Reviewer, createdAt: string) => {
    const request = { reviewer, createdAt, updatedAt: createdAt, dismissedAt: null }
    requests.set(JSON.stringify(reviewer), request)
  }
  for (const reviewer of requestedReviewers(pull, owner)) add(reviewer, timeIn(pull, 'created_at'))
  for (const review of reviews) {
    if (stringIn(review, 'state') !== 'REQUEST_REVIEW') continue
    const reviewer = reviewerOf(objectIn(review, 'user'), objectIn(review, 'team'), owner)
    add(reviewer, timeIn(review, 'submitted_at'))
  }
  return [...requests.values()]
}

/** Returns undefined for a pending review, which only its author may see, and for a request for a review. */
export function reviewState(review: JsonObject): ReviewState | undefined {
  const state = STATES[stringIn(review, 'state')]
  return state && booleanIn(review, 'dismissed') ? 'dismissed' : state
}

const STATES: Readonly<Record<string, ReviewState>> = {
  APPROVED: 'approved',
  REQUEST_CHANGES: 'changes_requested',
  COMMENT: 'commented',
}

export function reviewFact(
  { repository, issue }: PullResponses,
  review: JsonObject,
  state: ReviewState,
): Review {
  const submittedAt = timeIn(review, 'submitted_at')
  return {
    repository,
    id: integerIn(review, 'id'),
    pull: integerIn(issue, 'number'),
    author: authorIn(review, 'user'),
    body: stringIn(review, 'body'),
    headSha: commitIn(review, 'commit_id'),
    state,
    reactions: [],
    createdAt: submittedAt,
    submittedAt,
    ...(typeof review.official === 'boolean' && { official: review.official }),
  }
}

export interface ReviewComments {
  threads: ReviewThread[]
  comments: ReviewComment[]
}

/**
 * Returns the comments of one review and their threads. Gitea has no threads: it adds a reply to the review of the first comment, and
 * shows comments on the same line together.
 */
export function reviewComments(
  { repository, issue }: PullResponses,
  review: JsonObject,
  comments: readonly JsonObject[],
  reactionsOf: (id: number) => readonly Reaction[],
): ReviewComments {
  const pull = integerIn(issue, 'number')
  const found: ReviewComments = { threads: [], comments: [] }
  const roots = new Map<string, JsonObject>()
  for (const comment of [...comments].sort((a, b) => integerIn(a, 'id') - integerIn(b, 'id'))) {
    const { path, side, line } = lineOf(comment)
    const key = JSON.stringify([path, side, line])
    const root = roots.get(key)
    if (!root) {
      roots.set(key, comment)
      found.threads.push(threadFact(repository, pull, review, comment))
    }
    found.comments.push({
      repository,
      ...diffPositionOf(comment),
      id: integerIn(comment, 'id'),
      pull,
      review: integerIn(review, 'id'),
      thread: integerIn(root ?? comment, 'id'),
      author: authorIn(comment, 'user'),
      body: stringIn(comment, 'body'),
      state: 'submitted',
      inReplyTo: root ? integerIn(root, 'id') : null,
      reactions: reactionsOf(integerIn(comment, 'id')),
      createdAt: timeIn(comment, 'created_at'),
    })
  }
  return found
}

function threadFact(
  repository: string,
  pull: number,
  review: JsonObject,
  root: JsonObject,
): ReviewThread {
  const { line, side } = lineOf(root)
  const resolver = objectIn(root, 'resolver')
  return {
    repository,
    ...diffPositionOf(root),
    id: integerIn(root, 'id'),
    pull,
    review: integerIn(review, 'id'),
    line,
    side,
    startLine: null,
    startSide: null,
    originalLine: line,
    originalStartLine: null,
    createdAt: timeIn(root, 'created_at'),
    // Gitea does not send when it was resolved, but resolving updates the comment.
    resolvedAt: resolver ? timeIn(root, 'updated_at') : null,
    resolver: resolver ? loginOf(resolver) : null,
  }
}

/** In Gitea `position` is the line in the new file, and `original_position` the line in the old one. */
function lineOf(comment: JsonObject) {
  const [after, before] = [integerIn(comment, 'position'), integerIn(comment, 'original_position')]
  const side = after > 0 ? ('right' as const) : ('left' as const)
  return { path: stringIn(comment, 'path'), side, line: after || before || 1 }
}

function diffPositionOf(comment: JsonObject) {
  const { path, line } = lineOf(comment)
  const commit = commitIn(comment, 'commit_id')
  // Gitea sends an empty hunk if it could not compute one, and importers reject that.
  const diffHunk = stringIn(comment, 'diff_hunk') || `@@ -${line},1 +${line},1 @@\n `
  // The hunk ends with the line that the comment is on.
  const position = diffHunk.replace(/\n$/, '').split('\n').length - 1 || 1
  return {
    diffHunk,
    path,
    position,
    originalPosition: position,
    commit,
    originalCommit: commitIn(comment, 'original_commit_id') ?? commit,
    subjectType: 'line' as const,
  }
}
