import type { Reaction } from '../../../records/fact.ts'
import type {
  PullRequest,
  PullRequestHead,
  Review,
  ReviewComment,
  ReviewRequest,
  ReviewState,
  ReviewThread,
} from '../../../records/pull-request.ts'
import type { Entry } from '../client/forge-pages.ts'
import {
  authorIn,
  commitIn,
  entryIn,
  flagIn,
  loginOf,
  numberIn,
  textIn,
  textOrNull,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'
import { commonFacts } from './issue-facts.ts'
import { partyOf, requestedReviewers } from './people-facts.ts'

const NO_COMMIT = '0'.repeat(40)

export interface PullAnswers {
  /** `owner/name` */
  repository: string
  issue: Entry
  pull: Entry
  reviews: readonly Entry[]
}

export function pullFact(answers: PullAnswers, reactions: readonly Reaction[]): PullRequest {
  const { repository, issue, pull } = answers
  const base = entryIn(pull, 'base') ?? {}
  const isMerged = flagIn(pull, 'merged')
  return {
    repository,
    ...commonFacts(issue, reactions),
    base: {
      ref: textIn(base, 'ref') || textIn(base, 'label'),
      sha: commitIn(base, 'sha') ?? NO_COMMIT,
    },
    head: headOf(answers),
    reviewRequests: reviewRequests(answers),
    closes: [],
    draft: isDraft(pull),
    mergedAt: isMerged ? (timeOrNull(pull, 'merged_at') ?? timeOrNull(pull, 'closed_at')) : null,
    mergeCommit: isMerged ? commitIn(pull, 'merge_commit_sha') : null,
  }
}

/** Once the fork is gone, `ref` is `refs/pull/N/head`, and only `label` still has the name of the branch. */
function headOf({ issue, pull }: PullAnswers): PullRequestHead {
  const head = entryIn(pull, 'head') ?? {}
  const from = entryIn(head, 'repo')
  const ref = textIn(head, 'ref')
  return {
    ref: ref.startsWith('refs/') ? textIn(head, 'label') || ref : ref,
    sha: commitIn(head, 'sha') ?? NO_COMMIT,
    owner: from ? loginOf(entryIn(from, 'owner')) : authorIn(issue, 'user'),
    repository: from ? textOrNull(from, 'full_name') : null,
  }
}

/** Versions without `draft` go by how the title begins, as their pages do. */
const isDraft = (pull: Entry): boolean =>
  typeof pull.draft === 'boolean' ? pull.draft : /^\s*(wip:|\[wip\])/i.test(textIn(pull, 'title'))

/** Versions that do not name those who are asked have a review in the state of being asked for. */
function reviewRequests({ repository, pull, reviews }: PullAnswers): ReviewRequest[] {
  const [owner = ''] = repository.split('/')
  const asked = reviews.filter((review) => textIn(review, 'state') === 'REQUEST_REVIEW')
  const fromReviews = asked.map((review) => ({
    reviewer: partyOf(entryIn(review, 'user'), entryIn(review, 'team'), owner),
    createdAt: timeIn(review, 'submitted_at'),
  }))
  const named = requestedReviewers(pull, owner).map((reviewer) => ({
    reviewer,
    createdAt: timeIn(pull, 'created_at'),
  }))
  const all = new Map(
    [...named, ...fromReviews].map((each) => [JSON.stringify(each.reviewer), each]),
  )
  return [...all.values()].map(({ reviewer, createdAt }) => ({
    reviewer,
    createdAt,
    updatedAt: createdAt,
    dismissedAt: null,
  }))
}

/** Of a review that was sent. What is pending is nobody's business but its author's, and a request is no review. */
export function reviewState(review: Entry): ReviewState | undefined {
  const state = STATES[textIn(review, 'state')]
  return state && flagIn(review, 'dismissed') ? 'dismissed' : state
}

const STATES: Readonly<Record<string, ReviewState>> = {
  APPROVED: 'approved',
  REQUEST_CHANGES: 'changes_requested',
  COMMENT: 'commented',
}

export function reviewFact(
  { repository, issue }: PullAnswers,
  review: Entry,
  state: ReviewState,
): Review {
  const submittedAt = timeIn(review, 'submitted_at')
  return {
    repository,
    id: numberIn(review, 'id'),
    pull: numberIn(issue, 'number'),
    author: authorIn(review, 'user'),
    body: textIn(review, 'body'),
    headSha: commitIn(review, 'commit_id'),
    state,
    reactions: [],
    createdAt: submittedAt,
    submittedAt,
  }
}

export interface ReviewTalk {
  threads: ReviewThread[]
  comments: ReviewComment[]
}

/**
 * The comments of one review, and the threads they make: Gitea keeps an answer with the review that the first comment belongs
 * to, and shows what is about the same line together.
 */
export function reviewTalk(
  { repository, issue }: PullAnswers,
  review: Entry,
  comments: readonly Entry[],
  reactionsOf: (id: number) => readonly Reaction[],
): ReviewTalk {
  const pull = numberIn(issue, 'number')
  const talk: ReviewTalk = { threads: [], comments: [] }
  const roots = new Map<string, Entry>()
  for (const comment of [...comments].sort((a, b) => numberIn(a, 'id') - numberIn(b, 'id'))) {
    const place = directoryOf(comment)
    const key = JSON.stringify([place.path, place.side, place.line])
    const root = roots.get(key)
    if (!root) {
      roots.set(key, comment)
      talk.threads.push(threadFact(repository, pull, review, comment))
    }
    talk.comments.push({
      repository,
      ...diffPlace(comment),
      id: numberIn(comment, 'id'),
      pull,
      review: numberIn(review, 'id'),
      thread: numberIn(root ?? comment, 'id'),
      author: authorIn(comment, 'user'),
      body: textIn(comment, 'body'),
      state: 'submitted',
      inReplyTo: root ? numberIn(root, 'id') : null,
      reactions: reactionsOf(numberIn(comment, 'id')),
      createdAt: timeIn(comment, 'created_at'),
    })
  }
  return talk
}

function threadFact(repository: string, pull: number, review: Entry, root: Entry): ReviewThread {
  const { line, side } = directoryOf(root)
  const resolver = entryIn(root, 'resolver')
  return {
    repository,
    ...diffPlace(root),
    id: numberIn(root, 'id'),
    pull,
    review: numberIn(review, 'id'),
    line,
    side,
    startLine: null,
    startSide: null,
    originalLine: line,
    originalStartLine: null,
    createdAt: timeIn(root, 'created_at'),
    // When it was resolved is not said; resolving is a change of the comment.
    resolvedAt: resolver ? timeIn(root, 'updated_at') : null,
    resolver: resolver ? loginOf(resolver) : null,
  }
}

/** Gitea says `position` for the line of the new file and `original_position` for that of the old one. */
function directoryOf(comment: Entry) {
  const [after, before] = [numberIn(comment, 'position'), numberIn(comment, 'original_position')]
  const side = after > 0 ? ('right' as const) : ('left' as const)
  return { path: textIn(comment, 'path'), side, line: after || before || 1 }
}

function diffPlace(comment: Entry) {
  const { path, line } = directoryOf(comment)
  const commit = commitIn(comment, 'commit_id')
  // Gitea gives none where it could not cut one out, and importers refuse an empty one.
  const diffHunk = textIn(comment, 'diff_hunk') || `@@ -${line},1 +${line},1 @@\n `
  // The hunk ends with the line that was commented.
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
