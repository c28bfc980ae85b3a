import { join } from 'node:path'
import { endOfHunk } from '../../records/diff-hunk.ts'
import type { Author } from '../../records/fact.ts'
import type {
  DiffPosition,
  Review,
  ReviewComment,
  ReviewThread,
} from '../../records/pull-request.ts'
import { type DumpContext, dumpReactions } from './dump-context.ts'
import { YamlList, yamlTime } from './yaml-json.ts'

type Thread = Pick<ReviewThread, 'id' | 'line' | 'originalLine' | 'side'>

/**
 * The server takes any other state for pending, which only the author sees. A dismissed review becomes a comment, because archives do
 * not contain its state before.
 */
const STATES: Readonly<Record<string, string>> = {
  approved: 'APPROVED',
  changes_requested: 'CHANGES_REQUESTED',
  commented: 'COMMENTED',
  dismissed: 'COMMENTED',
}

/**
 * Writes reviews/N.yml of one pull request. Without a diff the server drops every comment on a line. Then each of them becomes a
 * review that names its line.
 */
export function dumpReviews(
  context: DumpContext,
  pull: number,
  { hasDiff }: { hasDiff: boolean },
): void {
  const { rows, report, directory } = context
  const reviews = rows.of<Review>('reviews', pull)
  const comments = rows.of<ReviewComment>('review_comments', pull)
  if (reviews.length + comments.length === 0) return
  const threads = new Map(rows.of<Thread>('threads', pull).map((each) => [each.id, each]))
  const threadOf = ({ thread }: ReviewComment) => threads.get(thread ?? 0)
  const list = new YamlList(join(directory, 'reviews', `${pull}.yml`))
  const dumpAll = (all: readonly ReviewComment[]) =>
    all.map((comment) => dumpReviewComment(context, comment, threadOf(comment)))
  const submitted = comments.filter(({ state }) => state === 'submitted')
  const byReview = Map.groupBy(hasDiff ? submitted : [], reviewKey)
  for (const review of reviews) {
    const state = STATES[review.state]
    if (state === undefined) continue
    if (review.state === 'dismissed') report.lost('dismissals')
    report.lost('review_reactions', review.reactions.length)
    const key = reviewKey({ review: review.id, author: review.author })
    const own = byReview.get(key) ?? []
    byReview.delete(key)
    list.add({ ...dumpReview(context, review), state, comments: dumpAll(own) })
  }
  // The server takes the reviewer for the author of all comments, so comments of others need their own review.
  for (const [first, ...more] of byReview.values())
    if (first) list.add({ ...reviewAround(context, first), comments: dumpAll([first, ...more]) })
  if (!hasDiff)
    for (const comment of submitted) {
      const { line } = reviewPosition(comment, threadOf(comment))
      const body = `\`${comment.path}\`, line ${Math.abs(line)}:\n\n${comment.body ?? ''}`
      list.add({ ...reviewAround(context, comment, body), comments: [] })
    }
  report.lost('pending_reviews', reviews.filter(({ state }) => state === 'pending').length)
  report.lost('pending_review_comments', comments.length - submitted.length)
  list.close()
}

export function skipReviewsWithoutPull({ rows, report, fullName }: DumpContext): void {
  for (const [pull, { id }] of rows.all<Review>('reviews'))
    if (!rows.has('pulls', pull))
      report.lostRecord('pull_request_reviews', `${fullName}: review ${id} is on #${pull}`)
  for (const [pull, { id }] of rows.all<ReviewComment>('review_comments'))
    if (!rows.has('pulls', pull))
      report.lostRecord(
        'pull_request_review_comments',
        `${fullName}: review comment ${id} is on #${pull}`,
      )
}

function reviewKey({ review, author }: { review: number | null; author: Author }): string {
  return `${review} ${author?.toLowerCase()}`
}

function dumpReview(context: DumpContext, review: Review) {
  const { id, name } = context.identity(review.author)
  return {
    id: review.id,
    issue_index: review.pull,
    reviewer_id: id,
    reviewer_name: name,
    official: false,
    commit_id: review.headSha ?? '',
    content: context.text(review.body),
    created_at: yamlTime(review.submittedAt ?? review.createdAt),
  }
}

/** Makes a review for comments whose review is not in the archive or has another author. */
function reviewAround(context: DumpContext, comment: ReviewComment, body: string | null = null) {
  const { id, pull, author, createdAt } = comment
  const review = { id, pull, author, createdAt, body, submittedAt: null }
  const headSha = comment.originalCommit ?? comment.commit
  return { ...dumpReview(context, { ...review, headSha } as Review), state: 'COMMENTED' }
}

function dumpReviewComment(
  context: DumpContext,
  comment: ReviewComment,
  thread: Thread | undefined,
) {
  context.report.lost('review_reactions', comment.reactions.length)
  const { line, position, diffHunk, commit } = reviewPosition(comment, thread)
  return {
    id: comment.id,
    in_reply_to: comment.inReplyTo ?? 0,
    content: context.text(comment.body),
    tree_path: comment.path,
    diff_hunk: diffHunk,
    position,
    line,
    commit_id: commit,
    poster_id: context.identity(comment.author).id,
    reactions: dumpReactions(context, comment.reactions),
    created_at: yamlTime(comment.createdAt),
    updated_at: yamlTime(comment.createdAt),
  }
}

export interface ReviewPosition {
  /** The line in the new file, or negative in the old one. Never 0, because then the server would search the hunk. */
  line: number
  /** Servers before 1.16 add this to the first line of the hunk in the new file. */
  position: number
  /** Always begins with a header, because old servers crash without one. */
  diffHunk: string
  commit: string
}

const HUNK_HEADER = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** Returns the position of a comment as the server counts it. An outdated comment is shown at its original position. */
export function reviewPosition(
  comment: DiffPosition,
  thread: Omit<Thread, 'id'> | undefined,
): ReviewPosition {
  const line = lineOf(comment, thread)
  const isOutdated = thread ? thread.line === null : comment.position === null
  const header = HUNK_HEADER.exec(comment.diffHunk)
  const diffHunk = header ? comment.diffHunk : `@@ -${Math.abs(line)},1 +${Math.abs(line)},1 @@`
  const first = header ? Number(header[1]) : Math.abs(line)
  const { commit, originalCommit } = comment
  return {
    line,
    position: line - first + 1,
    diffHunk,
    commit: (isOutdated ? originalCommit : commit) ?? commit ?? originalCommit ?? '',
  }
}

function lineOf({ diffHunk }: DiffPosition, thread: Omit<Thread, 'id'> | undefined): number {
  const line = thread?.line ?? thread?.originalLine
  if (line) return thread?.side === 'left' ? -line : line
  const end = endOfHunk(diffHunk)
  // A comment on a whole file is shown at its beginning.
  return (end?.side === 'left' ? -end.line : end?.line) || 1
}
