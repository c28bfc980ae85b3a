import type { Reaction } from '../../../records/fact.ts'
import type { Review } from '../../../records/pull-request.ts'
import type { Entry } from '../client/forge-pages.ts'
import { numberIn, textIn } from '../client/forge-values.ts'
import {
  type PullAnswers,
  type ReviewTalk,
  reviewFact,
  reviewState,
  reviewTalk,
} from '../facts/pull-facts.ts'
import type { AttachedFiles } from './attached-files.ts'
import { commentReactions, type Memory } from './comment-reactions.ts'
import { getPart, listPart, listWholePart, type ReadContext } from './read-context.ts'

export interface ReadReviews {
  answers: PullAnswers
  reviews: Review[]
  talk: ReviewTalk
  /** How many comments of lines there are: a timeline leaves them out. */
  codeComments: number
}

/** A pull request with its reviews and what was said of lines. */
export async function readReviews(
  context: ReadContext,
  memory: Memory,
  files: AttachedFiles,
  issue: Entry,
  known: Entry | undefined,
): Promise<ReadReviews> {
  const { people, owner, name } = context
  const part = `pulls/${numberIn(issue, 'number')}`
  const pull = known ?? ((await getPart(context, part)).body as Entry)
  const listed = await listPart(context, `${part}/reviews`)
  people.meet([pull, listed])
  const answers = { repository: `${owner}/${name}`, issue, pull, reviews: listed }
  const read: ReadReviews = {
    answers,
    reviews: [],
    talk: { threads: [], comments: [] },
    codeComments: 0,
  }
  for (const review of listed) {
    read.codeComments += numberIn(review, 'comments_count')
    if (textIn(review, 'state') === 'PENDING')
      context.notes.skipped('reviews that are not sent yet')
    const state = reviewState(review)
    if (!state) continue
    read.reviews.push(reviewFact(answers, review, state))
    const on = {
      kind: 'pull_request_review' as const,
      pull: numberIn(issue, 'number'),
      id: numberIn(review, 'id'),
    }
    await files.add(on, review, commentOfReview(review))
    const { threads, comments } = await readTalk(context, memory, files, answers, review)
    for (const each of threads) read.talk.threads.push(each)
    for (const each of comments) read.talk.comments.push(each)
  }
  return read
}

/** Always anew: who edits a comment, or resolves a thread, leaves the review as it was. */
async function readTalk(
  context: ReadContext,
  memory: Memory,
  files: AttachedFiles,
  answers: PullAnswers,
  review: Entry,
): Promise<ReviewTalk> {
  if (review.comments_count === 0) return { threads: [], comments: [] }
  const [pull, id] = [numberIn(answers.issue, 'number'), numberIn(review, 'id')]
  const comments = await listWholePart(context, `pulls/${pull}/reviews/${id}/comments`)
  context.people.meet(comments)
  const reactions = new Map<number, readonly Reaction[]>()
  for (const comment of comments) {
    const of = numberIn(comment, 'id')
    const kind = 'pull_request_review_comments'
    reactions.set(of, await commentReactions(context, memory, kind, comment))
    await files.add({ kind: 'pull_request_review_comment', pull, id: of }, comment, of)
  }
  return reviewTalk(answers, review, comments, (each) => reactions.get(each) ?? [])
}

/** A review is shown as a comment of its own, whose number its address ends with. */
function commentOfReview(review: Entry): number | undefined {
  const found = /#issuecomment-(\d+)$/.exec(textIn(review, 'html_url'))
  return found ? Number(found[1]) : undefined
}
