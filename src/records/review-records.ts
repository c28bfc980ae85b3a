import { count, oneOf, type Shape } from '../lib/json-shape.ts'
import { reactions, writeReactions } from './issue-records.ts'
import type {
  CommitComment,
  DiffPosition,
  Review,
  ReviewComment,
  ReviewState,
  ReviewThread,
  Side,
} from './pull-request.ts'
import { id, issueOrPull, linkOrNull, person, repositoryName } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import {
  anyBoolean,
  anyString,
  type FieldReader,
  optional,
  orElse,
  textOrNull,
} from './record-shapes.ts'

const countOrNull = orElse(count(), null)
const side = oneOf<Side>('left', 'right')
const idOrNull = linkOrNull(id)
/** Unknown values are read as undefined. */
const subjectType: Shape<DiffPosition['subjectType']> = (value) =>
  value === 'line' || value === 'file' ? value : undefined

/** Archives have numbers for the states of reviews. */
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
  const submittedAt = field('submitted_at', textOrNull)
  return {
    ...readPull(field),
    id: field('url', id),
    author: field('user', person),
    body: field('body', textOrNull),
    headSha: field('head_sha', textOrNull),
    state: field('state', reviewState),
    reactions: field('reactions', reactions),
    // Only a submitted review may lack created_at.
    createdAt:
      submittedAt === null
        ? field('created_at', anyString)
        : field('created_at', orElse(anyString, submittedAt)),
    submittedAt,
  }
}

export function writeReview(review: Review, links: Links) {
  const { repository, pull } = review
  return {
    type: 'pull_request_review',
    url: reviewLink(review, review.id, links),
    pull_request: links.discussed(repository, { kind: 'pull_request', number: pull }),
    user: links.person(review.author),
    body: review.body,
    head_sha: review.headSha,
    formatter: 'markdown',
    state: NUMBER_BY_STATE.get(review.state)!,
    reactions: writeReactions(review.reactions, 'PullRequestReview', links),
    created_at: review.createdAt,
    submitted_at: review.submittedAt,
  }
}

interface PullName {
  repository: string
  pull: number
}

function readPull(field: FieldReader): PullName {
  const { repository, number } = field('pull_request', issueOrPull)
  return { repository, pull: number }
}

const reviewLink = ({ repository, pull }: PullName, id: number | null, links: Links) =>
  id === null ? null : links.inPull(repository, pull, `pullrequestreview-${id}`)
const threadLink = ({ repository, pull }: PullName, id: number | null, links: Links) =>
  id === null ? null : links.inPull(repository, pull, `pullrequestreviewthread-${id}`)
const commentLink = ({ repository, pull }: PullName, id: number | null, links: Links) =>
  id === null ? null : links.inPull(repository, pull, `r${id}`)

function readDiffPosition(field: FieldReader): DiffPosition {
  return {
    diffHunk: field('diff_hunk', orElse(anyString, '')),
    path: field('path', anyString),
    position: field('position', countOrNull),
    originalPosition: field('original_position', countOrNull),
    commit: field('commit_id', textOrNull),
    originalCommit: field('original_commit_id', textOrNull),
    subjectType: field('subject_type', subjectType),
  }
}

function writeDiffPosition(at: DiffPosition) {
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
    id: field('url', id),
    review: field('pull_request_review', idOrNull),
    ...readDiffPosition(field),
    line: field('line', countOrNull),
    side: field('side', orElse(side, 'right')),
    startLine: field('start_line', countOrNull),
    startSide: field('start_side', orElse(side, null)),
    originalLine: field('original_line', countOrNull),
    originalStartLine: field('original_start_line', countOrNull),
    createdAt: field('created_at', anyString),
    resolvedAt: field('resolved_at', textOrNull),
    resolver: field('resolver', person),
    outdated: field('outdated', optional(anyBoolean)),
  }
}

export function writeReviewThread(thread: ReviewThread, links: Links) {
  return {
    type: 'pull_request_review_thread',
    url: threadLink(thread, thread.id, links),
    pull_request: links.discussed(thread.repository, { kind: 'pull_request', number: thread.pull }),
    pull_request_review: reviewLink(thread, thread.review, links),
    ...writeDiffPosition(thread),
    start_line: thread.startLine,
    line: thread.line,
    start_side: thread.startSide,
    side: thread.side,
    original_start_line: thread.originalStartLine,
    original_line: thread.originalLine,
    created_at: thread.createdAt,
    resolved_at: thread.resolvedAt,
    resolver: links.person(thread.resolver),
    subject_type: thread.subjectType,
    outdated: thread.outdated,
  }
}

/** Archives have numbers for the states of review comments, too. */
const PENDING = 0
const SUBMITTED = 1
const commentState: Shape<ReviewComment['state']> = (value, at) =>
  oneOf(PENDING, SUBMITTED)(value, at) === PENDING ? 'pending' : 'submitted'

export function readReviewComment(field: FieldReader): ReviewComment {
  return {
    ...readPull(field),
    id: field('url', id),
    review: field('pull_request_review', idOrNull),
    thread: field('pull_request_review_thread', idOrNull),
    author: field('user', person),
    body: field('body', textOrNull),
    ...readDiffPosition(field),
    state: field('state', orElse(commentState, 'submitted')),
    inReplyTo: field('in_reply_to', idOrNull),
    reactions: field('reactions', reactions),
    createdAt: field('created_at', anyString),
  }
}

export function writeReviewComment(comment: ReviewComment, links: Links) {
  const { repository, pull } = comment
  return {
    type: 'pull_request_review_comment',
    url: commentLink(comment, comment.id, links),
    pull_request: links.discussed(repository, { kind: 'pull_request', number: pull }),
    pull_request_review: reviewLink(comment, comment.review, links),
    pull_request_review_thread: threadLink(comment, comment.thread, links),
    user: links.person(comment.author),
    body: comment.body,
    formatter: 'markdown',
    ...writeDiffPosition(comment),
    state: comment.state === 'pending' ? PENDING : SUBMITTED,
    in_reply_to: commentLink(comment, comment.inReplyTo, links),
    reactions: writeReactions(comment.reactions, 'PullRequestReviewComment', links),
    created_at: comment.createdAt,
    subject_type: comment.subjectType,
  }
}

export function readCommitComment(field: FieldReader): CommitComment {
  return {
    repository: field('repository', repositoryName),
    id: field('url', id),
    commit: field('commit_id', anyString),
    author: field('user', person),
    body: field('body', textOrNull),
    path: field('path', textOrNull),
    position: field('position', countOrNull),
    reactions: field('reactions', reactions),
    createdAt: field('created_at', anyString),
  }
}

export function writeCommitComment(comment: CommitComment, links: Links) {
  const { repository, commit, id } = comment
  return {
    type: 'commit_comment',
    url: links.commitComment(repository, commit, id),
    repository: links.repository(repository),
    user: links.person(comment.author),
    body: comment.body,
    formatter: 'markdown',
    path: comment.path,
    position: comment.position,
    commit_id: commit,
    reactions: writeReactions(comment.reactions, 'CommitComment', links),
    created_at: comment.createdAt,
  }
}
