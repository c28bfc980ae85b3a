import { join } from 'node:path'
import { endOfHunk } from '../../../records/diff-hunk.ts'
import type { Author } from '../../../records/fact.ts'
import type {
  DiffPlace,
  Review,
  ReviewComment,
  ReviewThread,
} from '../../../records/pull-request.ts'
import { type DumpContext, dumpReactions } from './dump-context.ts'
import { yamlList, yamlTime } from './yaml-json.ts'

type ThreadPlace = Pick<ReviewThread, 'id' | 'line' | 'originalLine' | 'side'>

/**
 * The server knows no others: anything else it takes for pending, which only its author sees. What was dismissed is kept
 * as a comment, because nobody says what it was before.
 */
const STATES: Readonly<Record<string, string>> = {
  approved: 'APPROVED',
  changes_requested: 'CHANGES_REQUESTED',
  commented: 'COMMENTED',
  dismissed: 'COMMENTED',
}

/**
 * reviews/N.yml of one pull request. Where its commits are not known, the server drops every inline comment: there each
 * becomes a review that says where it stood.
 */
export function dumpReviews(
  context: DumpContext,
  pull: number,
  { hasDiff }: { hasDiff: boolean },
): void {
  const { rows, shelf, tally } = context
  const reviews = rows.of<Review>(shelf('reviews'), pull)
  const comments = rows.of<ReviewComment>(shelf('review_comments'), pull)
  if (reviews.length + comments.length === 0) return
  const places = rows.of<ThreadPlace>(shelf('threads'), pull)
  const threads = new Map(places.map((each) => [each.id, each]))
  const list = yamlList(join(context.place, 'reviews', `${pull}.yml`))
  const said = (of: readonly ReviewComment[]) =>
    of.map((comment) => dumpReviewComment(context, comment, threads.get(comment.thread ?? 0)))
  const sent = comments.filter(({ state }) => state === 'submitted')
  const sentBy = Map.groupBy(hasDiff ? sent : [], reviewKey)
  for (const review of reviews) {
    const state = STATES[review.state]
    if (state === undefined) continue
    if (review.state === 'dismissed') tally.skip('dismissals')
    tally.skip('review_reactions', review.reactions.length)
    const key = reviewKey({ review: review.id, author: review.author })
    const own = sentBy.get(key) ?? []
    sentBy.delete(key)
    list.add({ ...dumpReview(context, review), state, comments: said(own) })
  }
  // The server takes the reviewer for the author of all comments: what others said there becomes a review of theirs.
  for (const [first, ...more] of sentBy.values())
    if (first) list.add({ ...reviewAround(context, first), comments: said([first, ...more]) })
  if (!hasDiff)
    for (const comment of sent)
      list.add({
        ...reviewAround(context, comment, saidOfPlace(comment, threads.get(comment.thread ?? 0))),
        comments: [],
      })
  tally.skip('pending_reviews', reviews.filter(({ state }) => state === 'pending').length)
  tally.skip('pending_review_comments', comments.length - sent.length)
  list.close()
}

/** What is said in a review of nothing has no place. */
export function countLostReviews({ rows, shelf, tally, fullName }: DumpContext): void {
  for (const [pull, { id }] of rows.all<Review>(shelf('reviews')))
    if (!rows.has(shelf('pulls'), pull))
      tally.lose('pull_request_reviews', `${fullName}: review ${id} is on #${pull}`)
  for (const [pull, { id }] of rows.all<ReviewComment>(shelf('review_comments')))
    if (!rows.has(shelf('pulls'), pull))
      tally.lose('pull_request_review_comments', `${fullName}: review comment ${id} is on #${pull}`)
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

function saidOfPlace(comment: ReviewComment, thread: ThreadPlace | undefined): string {
  const { line } = reviewPlace(comment, thread)
  return `\`${comment.path}\`, line ${Math.abs(line)}:\n\n${comment.body ?? ''}`
}

/** For comments whose review is not in the archive, or is another's. */
function reviewAround(context: DumpContext, comment: ReviewComment, body: string | null = null) {
  const { id, pull, author, createdAt } = comment
  const review = { id, pull, author, createdAt, body, submittedAt: null }
  const headSha = comment.originalCommit ?? comment.commit
  return { ...dumpReview(context, { ...review, headSha } as Review), state: 'COMMENTED' }
}

function dumpReviewComment(
  context: DumpContext,
  comment: ReviewComment,
  thread: ThreadPlace | undefined,
) {
  context.tally.skip('review_reactions', comment.reactions.length)
  const { line, position, diffHunk, commit } = reviewPlace(comment, thread)
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

export interface ReviewPlace {
  /** In the new file; below zero in the old one. Never 0: then the server would look for it in the hunk. */
  line: number
  /** What servers before 1.16 add to the hunk's first line of the new file to find it. */
  position: number
  /** Never without a head: old servers end where there is none. */
  diffHunk: string
  commit: string
}

const HEAD = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/

type Thread = Pick<ReviewThread, 'line' | 'originalLine' | 'side'>

/** Where a comment is, as the server counts. What became outdated is shown where it was said. */
export function reviewPlace(comment: DiffPlace, thread: Thread | undefined): ReviewPlace {
  const line = lineOf(comment, thread)
  const isOutdated = thread ? thread.line === null : comment.position === null
  const known = HEAD.exec(comment.diffHunk)
  const diffHunk = known ? comment.diffHunk : `@@ -${Math.abs(line)},1 +${Math.abs(line)},1 @@`
  const first = known ? Number(known[1]) : Math.abs(line)
  const { commit, originalCommit } = comment
  return {
    line,
    position: line - first + 1,
    diffHunk,
    commit: (isOutdated ? originalCommit : commit) ?? commit ?? originalCommit ?? '',
  }
}

function lineOf({ diffHunk }: DiffPlace, thread: Thread | undefined): number {
  const said = thread?.line ?? thread?.originalLine
  if (said) return thread?.side === 'left' ? -said : said
  const end = endOfHunk(diffHunk)
  // What is said of a whole file is shown at its beginning.
  return (end?.side === 'left' ? -end.line : end?.line) || 1
}
