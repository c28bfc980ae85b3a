import { authorFromRest, reactionFromRest } from './from-rest.ts'
import type { ReviewComment, ReviewThread, Side } from './pull-request.ts'
import type { RestReaction, RestReviewComment } from './rest-shapes.ts'

/** Where in the change it was said. Hosts count in different ways: GitHub lines of the diff, Gitea lines of the file. */
export interface RestPlace {
  /** Lines below the diff's first `@@`; null once it is outdated. */
  position: number | null
  originalPosition: number | null
}

export function reviewCommentFromRest(
  repository: string,
  pull: number,
  comment: RestReviewComment,
  { position, originalPosition }: RestPlace,
  reactions: readonly RestReaction[],
): ReviewComment {
  const { subject_type: subjectType } = comment
  return {
    repository,
    id: comment.id,
    pull,
    review: comment.pull_request_review_id ?? null,
    // A thread has no id of its own in REST: that of its first comment serves.
    thread: comment.in_reply_to_id ?? comment.id,
    author: authorFromRest(comment.user),
    body: comment.body ?? null,
    diffHunk: comment.diff_hunk,
    path: comment.path,
    position,
    originalPosition,
    commit: comment.commit_id || comment.original_commit_id || null,
    originalCommit: comment.original_commit_id || comment.commit_id || null,
    state: 'submitted',
    inReplyTo: comment.in_reply_to_id ?? null,
    reactions: reactions.map(reactionFromRest),
    createdAt: comment.created_at,
    ...(subjectType === 'line' || subjectType === 'file' ? { subjectType } : {}),
  }
}

/** Lines of the file, on the side that was commented. */
export interface ThreadLines {
  side: Side
  line: number | null
  originalLine: number | null
  startLine?: number | null
  startSide?: Side | null
  originalStartLine?: number | null
}

/** The thread that a root comment begins. Importers refuse a comment without one. */
export function threadOf(
  root: ReviewComment,
  lines: ThreadLines,
  resolved: { at: string; by: string | null } | null,
): ReviewThread {
  const { repository, pull, review, diffHunk, path, position, originalPosition } = root
  const { commit, originalCommit, subjectType, createdAt } = root
  return {
    repository,
    id: root.thread ?? root.id,
    pull,
    review,
    diffHunk,
    path,
    position,
    originalPosition,
    commit,
    originalCommit,
    side: lines.side,
    line: lines.line,
    startLine: lines.startLine ?? null,
    startSide: lines.startSide ?? null,
    originalLine: lines.originalLine,
    originalStartLine: lines.originalStartLine ?? null,
    createdAt,
    resolvedAt: resolved?.at ?? null,
    resolver: resolved?.by ?? null,
    ...(subjectType && { subjectType }),
  }
}
