import { join } from 'node:path'
import { endOfHunk, HUNK_HEADER } from '../../records/diff-hunk.ts'
import type {
  DiffPosition,
  Review,
  ReviewComment,
  ReviewThread,
} from '../../records/pull-request.ts'
import type { Author } from '../../records/record.ts'
import { type DumpContext, dumpReactions } from './dump-context.ts'
import { YamlList, yamlTime } from './yaml-json.ts'

type ThreadLines = Pick<ReviewThread, 'line' | 'originalLine' | 'side'>

/**
 * The server takes any other state for pending, which only the author sees. A dismissed review becomes a comment, because archives do
 * not contain the state that it had before.
 */
const STATES: Partial<Record<Review['state'], string>> = {
  approved: 'APPROVED',
  changes_requested: 'CHANGES_REQUESTED',
  commented: 'COMMENTED',
  dismissed: 'COMMENTED',
}

/**
 * Writes reviews/N.yml of one pull request. If there is no diff, the server drops every comment on a line. Therefore each of them
 * becomes a review that names its line.
 */
export function dumpReviews(context: DumpContext, pull: number, { hasDiff }: { hasDiff: boolean }) {
  const { records, report, directory } = context
  const reviews = records.of('pull_request_reviews', pull)
  const comments = records.of('pull_request_review_comments', pull)
  if (reviews.length + comments.length === 0) return
  const all = records.of('pull_request_review_threads', pull)
  const threads = new Map(all.map((each) => [each.id, each]))
  const threadOf = ({ thread }: ReviewComment) => threads.get(thread ?? 0)
  using list = new YamlList(join(directory, 'reviews', `${pull}.yml`))
  const dumpAll = (all: readonly ReviewComment[]) =>
    all.map((comment) => dumpReviewComment(context, comment, threadOf(comment)))
  const submitted = comments.filter(({ state }) => state === 'submitted')
  // The server has a field for reactions to comments on lines, but does not restore them.
  for (const { reactions } of submitted) report.addLoss('review_reactions', reactions.length)
  const byReview = Map.groupBy(hasDiff ? submitted : [], reviewKey)
  for (const review of reviews) {
    const state = STATES[review.state]
    if (state === undefined) continue
    if (review.state === 'dismissed') report.addLoss('dismissals')
    report.addLoss('review_reactions', review.reactions.length)
    report.addLoss('review_commits', review.headSha === null ? 0 : 1)
    const key = reviewKey({ review: review.id, author: review.author })
    const commentsOfReview = byReview.get(key) ?? []
    byReview.delete(key)
    list.add({ ...dumpReview(context, review), state, comments: dumpAll(commentsOfReview) })
  }
  // What remains has no review in the archive, or another author than its review: the server takes the reviewer for the author.
  for (const [first, ...more] of byReview.values())
    if (first) list.add({ ...reviewAround(context, first), comments: dumpAll([first, ...more]) })
  if (!hasDiff)
    for (const comment of submitted) {
      const { line } = reviewPosition(comment, threadOf(comment))
      const body = `${lineHeading(comment.path, line)}\n\n${comment.body ?? ''}`
      list.add({ ...reviewAround(context, comment, body), comments: [] })
    }
  report.addLoss('resolved_threads', all.filter(({ resolvedAt }) => resolvedAt !== null).length)
  report.addLoss(
    'line_ranges',
    all.filter((each) => each.startLine ?? each.originalStartLine).length,
  )
  report.addLoss('file_threads', all.filter(({ subjectType }) => subjectType === 'file').length)
  report.addLoss('pending_reviews', reviews.filter(({ state }) => state === 'pending').length)
  report.addLoss('pending_review_comments', comments.length - submitted.length)
}

/** Returns the first line of a review that a comment on a line became. */
export const lineHeading = (path: string, line: number): string =>
  `\`${path}\`, line ${Math.abs(line)}:`

function reviewKey({ review, author }: { review: number | null; author: Author }): string {
  return `${review} ${author?.toLowerCase()}`
}

type ReviewFields = Omit<Review, 'repository' | 'state' | 'reactions'>

function dumpReview(context: DumpContext, review: ReviewFields) {
  const { id, name } = context.identity(review.author)
  return {
    id: review.id,
    issue_index: review.pull,
    reviewer_id: id,
    reviewer_name: name,
    official: review.official ?? false,
    commit_id: review.headSha ?? '',
    content: context.text(review.body),
    created_at: yamlTime(review.submittedAt ?? review.createdAt),
  }
}

/** Makes a review for comments that cannot be in the review that they belong to. */
function reviewAround(context: DumpContext, comment: ReviewComment, body: string | null = null) {
  const { id, pull, author, createdAt } = comment
  const headSha = comment.originalCommit ?? comment.commit
  const review = { id, pull, author, createdAt, body, headSha, submittedAt: null }
  return { ...dumpReview(context, review), state: 'COMMENTED' }
}

function dumpReviewComment(context: DumpContext, comment: ReviewComment, thread?: ThreadLines) {
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

/** Returns the position of a comment as the server counts it. An outdated comment is shown at its original position. */
export function reviewPosition(comment: DiffPosition, thread: ThreadLines | undefined) {
  // The line in the new file, or negative in the old one. Never 0, because then the server would search the hunk.
  const line = lineOf(comment, thread)
  const isOutdated = thread ? thread.line === null : comment.position === null
  const header = HUNK_HEADER.exec(comment.diffHunk)
  // Old versions of the server crash without a header.
  const diffHunk = header ? comment.diffHunk : `@@ -${Math.abs(line)},1 +${Math.abs(line)},1 @@`
  // Versions of the server before 1.16 add the position to the first line of the hunk in the new file.
  const position = line - (header ? Number(header[2]) : Math.abs(line)) + 1
  const { originalCommit: original } = comment
  const commit = (isOutdated ? original : comment.commit) ?? comment.commit ?? original ?? ''
  return { line, position, diffHunk, commit }
}

function lineOf({ diffHunk }: DiffPosition, thread: ThreadLines | undefined): number {
  const line = thread?.line ?? thread?.originalLine
  if (line) return thread?.side === 'left' ? -line : line
  const end = endOfHunk(diffHunk)
  // A comment on a whole file is shown at its beginning.
  return (end?.side === 'left' ? -end.line : end?.line) || 1
}
