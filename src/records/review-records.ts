import { count, oneOf, type Shape } from '../lib/json-shape.ts'
import {
  anyBoolean,
  anyString,
  type FieldReader,
  optional,
  stringOrNull,
  withDefault,
} from './field-reader.ts'
import { reactionRecords, reactions } from './issue-records.ts'
import * as url from './parse-urls.ts'
import type {
  CommitComment,
  DiffPosition,
  PullRequestFact,
  Review,
  ReviewComment,
  ReviewState,
  ReviewThread,
  Side,
} from './pull-request.ts'
import type { RecordUrls } from './record-urls.ts'

const countOrNull = withDefault(count(), null)
const side = oneOf<Side>('left', 'right')
const idOrNull = url.orNull(url.id)
/** Unknown values are read as undefined. */
const subjectType: Shape<DiffPosition['subjectType']> = (value) =>
  value === 'line' || value === 'file' ? value : undefined

/** Archives contain the state of a review as a number. */
const STATE_BY_NUMBER = new Map<number, ReviewState>([
  [0, 'pending'],
  [1, 'commented'],
  [30, 'changes_requested'],
  [40, 'approved'],
  [50, 'dismissed'],
])
const NUMBER_BY_STATE = new Map([...STATE_BY_NUMBER].map(([number, state]) => [state, number]))

const reviewState: Shape<ReviewState> = (value, at) =>
  STATE_BY_NUMBER.get(oneOf(...STATE_BY_NUMBER.keys())(value, at))!

export function readReview(field: FieldReader): Review {
  const submittedAt = field('submitted_at', stringOrNull)
  return {
    ...readPull(field),
    id: field('url', url.id),
    author: field('user', url.loginOrNull),
    body: field('body', stringOrNull),
    headSha: field('head_sha', stringOrNull),
    state: field('state', reviewState),
    reactions: field('reactions', reactions),
    // Only a submitted review may lack created_at.
    createdAt:
      submittedAt === null
        ? field('created_at', anyString)
        : field('created_at', withDefault(anyString, submittedAt)),
    submittedAt,
    official: field('official', optional(anyBoolean)),
  }
}

export function reviewRecord(review: Review, urls: RecordUrls) {
  const { repository, pull } = review
  return {
    type: 'pull_request_review',
    url: urls.review(repository, pull, review.id),
    pull_request: urls.pull(repository, pull),
    user: urls.person(review.author),
    body: review.body,
    head_sha: review.headSha,
    formatter: 'markdown',
    state: NUMBER_BY_STATE.get(review.state)!,
    reactions: reactionRecords(review.reactions, 'PullRequestReview', urls),
    created_at: review.createdAt,
    submitted_at: review.submittedAt,
    // GitHub's archives do not have this field.
    official: review.official,
  }
}

function readPull(field: FieldReader): PullRequestFact {
  const { repository, number } = field('pull_request', url.issueOrPull)
  return { repository, pull: number }
}

function readDiffPosition(field: FieldReader): DiffPosition {
  return {
    diffHunk: field('diff_hunk', withDefault(anyString, '')),
    path: field('path', anyString),
    position: field('position', countOrNull),
    originalPosition: field('original_position', countOrNull),
    commit: field('commit_id', stringOrNull),
    originalCommit: field('original_commit_id', stringOrNull),
    subjectType: field('subject_type', subjectType),
  }
}

function diffPositionFields(at: DiffPosition) {
  return {
    diff_hunk: at.diffHunk,
    path: at.path,
    position: at.position,
    original_position: at.originalPosition,
    commit_id: at.commit,
    original_commit_id: at.originalCommit,
  }
}

export function readReviewThread(field: FieldReader): ReviewThread {
  return {
    ...readPull(field),
    id: field('url', url.id),
    review: field('pull_request_review', idOrNull),
    ...readDiffPosition(field),
    line: field('line', countOrNull),
    side: field('side', withDefault(side, 'right')),
    startLine: field('start_line', countOrNull),
    startSide: field('start_side', withDefault(side, null)),
    originalLine: field('original_line', countOrNull),
    originalStartLine: field('original_start_line', countOrNull),
    createdAt: field('created_at', anyString),
    resolvedAt: field('resolved_at', stringOrNull),
    resolver: field('resolver', url.loginOrNull),
    outdated: field('outdated', optional(anyBoolean)),
  }
}

export function reviewThreadRecord(thread: ReviewThread, urls: RecordUrls) {
  const { repository, pull } = thread
  return {
    type: 'pull_request_review_thread',
    url: urls.reviewThread(repository, pull, thread.id),
    pull_request: urls.pull(repository, pull),
    pull_request_review: urls.review(repository, pull, thread.review),
    ...diffPositionFields(thread),
    start_line: thread.startLine,
    line: thread.line,
    start_side: thread.startSide,
    side: thread.side,
    original_start_line: thread.originalStartLine,
    original_line: thread.originalLine,
    created_at: thread.createdAt,
    resolved_at: thread.resolvedAt,
    resolver: urls.person(thread.resolver),
    subject_type: thread.subjectType,
    outdated: thread.outdated,
  }
}

/** Archives contain the state of a review comment as one of these numbers. */
const PENDING = 0
const SUBMITTED = 1
const commentState: Shape<ReviewComment['state']> = (value, at) =>
  oneOf(PENDING, SUBMITTED)(value, at) === PENDING ? 'pending' : 'submitted'

export function readReviewComment(field: FieldReader): ReviewComment {
  return {
    ...readPull(field),
    id: field('url', url.id),
    review: field('pull_request_review', idOrNull),
    thread: field('pull_request_review_thread', idOrNull),
    author: field('user', url.loginOrNull),
    body: field('body', stringOrNull),
    ...readDiffPosition(field),
    state: field('state', withDefault(commentState, 'submitted')),
    inReplyTo: field('in_reply_to', idOrNull),
    reactions: field('reactions', reactions),
    createdAt: field('created_at', anyString),
  }
}

export function reviewCommentRecord(comment: ReviewComment, urls: RecordUrls) {
  const { repository, pull } = comment
  return {
    type: 'pull_request_review_comment',
    url: urls.reviewComment(repository, pull, comment.id),
    pull_request: urls.pull(repository, pull),
    pull_request_review: urls.review(repository, pull, comment.review),
    pull_request_review_thread: urls.reviewThread(repository, pull, comment.thread),
    user: urls.person(comment.author),
    body: comment.body,
    formatter: 'markdown',
    ...diffPositionFields(comment),
    state: comment.state === 'pending' ? PENDING : SUBMITTED,
    in_reply_to: urls.reviewComment(repository, pull, comment.inReplyTo),
    reactions: reactionRecords(comment.reactions, 'PullRequestReviewComment', urls),
    created_at: comment.createdAt,
    subject_type: comment.subjectType,
  }
}

export function readCommitComment(field: FieldReader): CommitComment {
  return {
    repository: field('repository', url.repositoryName),
    id: field('url', url.id),
    commit: field('commit_id', anyString),
    author: field('user', url.loginOrNull),
    body: field('body', stringOrNull),
    path: field('path', stringOrNull),
    position: field('position', countOrNull),
    reactions: field('reactions', reactions),
    createdAt: field('created_at', anyString),
  }
}

export function commitCommentRecord(comment: CommitComment, urls: RecordUrls) {
  const { repository, commit, id } = comment
  return {
    type: 'commit_comment',
    url: urls.commitComment(repository, commit, id),
    repository: urls.repository(repository),
    user: urls.person(comment.author),
    body: comment.body,
    formatter: 'markdown',
    path: comment.path,
    position: comment.position,
    commit_id: commit,
    reactions: reactionRecords(comment.reactions, 'CommitComment', urls),
    created_at: comment.createdAt,
  }
}
