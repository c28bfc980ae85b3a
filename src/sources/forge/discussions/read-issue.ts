import { createHash } from 'node:crypto'
import type { Reaction } from '../../../records/fact.ts'
import type { IssueComment } from '../../../records/issue.ts'
import type { Review } from '../../../records/pull-request.ts'
import type { Facts, Group } from '../../discussions.ts'
import { ForgeNotFound, ForgeRequestFailed, ForgeServerError } from '../../forge-errors.ts'
import { confirmAbsence } from '../client/confirm-absence.ts'
import { listFiltered } from '../client/forge-pages.ts'
import {
  booleanIn,
  integerIn,
  type JsonObject,
  objectOf,
  stringIn,
} from '../client/forge-values.ts'
import {
  commentFact,
  discussedBy,
  eventFacts,
  isPull,
  issueFact,
  reactionFacts,
  reactionKey,
} from '../facts/issue-facts.ts'
import {
  type PullAnswers,
  pullFact,
  type ReviewComments,
  reviewComments,
  reviewFact,
  reviewState,
} from '../facts/pull-facts.ts'
import { AttachedFiles, type CommentCache, commentReactions } from './attachments-and-reactions.ts'
import {
  getPart,
  ifExists,
  listingOf,
  listPart,
  listWholePart,
  type ReadContext,
  repositoryPath,
} from './read-context.ts'

/**
 * Returns what a listing shows of an issue, to detect changes. The time alone is not enough: deleting a comment, or renaming a label
 * or an account, does not change it.
 */
export function issueVersion(issue: JsonObject): string {
  const { updatedAt, ...fact } = issueFact('', issue, [])
  const digest = createHash('sha256')
    .update(JSON.stringify([fact, booleanIn(issue, 'is_locked')]))
    .digest('hex')
  return `${updatedAt}|${integerIn(issue, 'comments')}|${digest.slice(0, 8)}|`
}

/** Returns how many comments were read, according to the version of the group. */
export const commentsIn = (version: string): number => Number(version.split('|')[3] ?? 0) || 0

export const issueKey = (issue: JsonObject): string => `issue/${integerIn(issue, 'number')}`

/**
 * Reads everything about an issue or pull request. Returns undefined if it was deleted meanwhile. Reactions to comments that have
 * not changed are taken from `stored`. `pull` is the pull request if the caller has it already.
 */
export async function readIssueGroup(
  context: ReadContext,
  issue: JsonObject,
  stored: Group | undefined,
  pull?: JsonObject,
): Promise<Group | undefined> {
  const { forge, signal, notes } = context
  const number = integerIn(issue, 'number')
  const read = () => {
    notes.removeMissing(number)
    return readGroup({ ...context, issue: number }, issue, { stored, seen: {} }, pull)
  }
  try {
    return await confirmAbsence(forge.client, read, signal)
  } catch (error) {
    // Some versions answer 500 for parts of an issue that was deleted a moment ago.
    const mayBeDeleted = error instanceof ForgeNotFound || error instanceof ForgeServerError
    if (mayBeDeleted && (await findIssue(context, number)) === undefined) return undefined
    // The forge has the issue but not a part of it, and waiting does not help.
    throw error instanceof ForgeNotFound
      ? new ForgeRequestFailed(404, error.message, { cause: error })
      : error
  }
}

/** Returns undefined if the forge confirms that there is no issue with that number. */
export async function findIssue(
  context: ReadContext,
  number: number,
): Promise<JsonObject | undefined> {
  const response = await ifExists(context, () => getPart(context, `issues/${number}`))
  const issue = response && objectOf(response.body)
  if (issue && integerIn(issue, 'number') !== number) {
    const url = `${context.forge.client.url}${repositoryPath(context)}/issues/${number}`
    throw new ForgeRequestFailed(200, `${url} is something else than this issue`)
  }
  return issue
}

async function readGroup(
  context: ReadContext,
  issue: JsonObject,
  cache: CommentCache,
  knownPull: JsonObject | undefined,
): Promise<Group> {
  const { people, notes, owner, name } = context
  const repository = `${owner}/${name}`
  const files = new AttachedFiles(context)
  const reactions = await readReactions(context, issue)
  const pull = isPull(issue)
    ? await readReviews(context, cache, files, issue, knownPull)
    : undefined
  const timeline = await readTimeline(context, issue, pull?.lineComments ?? 0)
  const comments = await readComments(context, issue, timeline)
  people.collect([issue, comments, timeline])
  await files.add(discussedBy(issue), issue)
  const issueComments = await commentFacts(context, cache, files, issue, comments)
  const onSkipped = (what: string) => notes.addSkipped(what)
  const events = eventFacts({ repository, issue, pull: pull?.answers.pull, onSkipped }, timeline)
  if (events.some(({ actor }) => actor === 'ghost')) people.addGhost()
  const facts: Facts = {
    ...(pull
      ? {
          pull_requests: [pullFact(pull.answers, reactions)],
          pull_request_reviews: pull.reviews,
          pull_request_review_threads: pull.threads,
          pull_request_review_comments: pull.comments,
        }
      : { issues: [issueFact(repository, issue, reactions)] }),
    issue_comments: issueComments,
    issue_events: events,
    attachments: files.facts(),
  }
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16)
  return {
    key: issueKey(issue),
    version: `${issueVersion(issue)}${issueComments.length}|${digest}`,
    facts,
    files: files.files(),
    seen: cache.seen,
  }
}

async function readReactions(context: ReadContext, issue: JsonObject): Promise<Reaction[]> {
  const part = `issues/${integerIn(issue, 'number')}/reactions`
  const found = await listPart(context, part, { keyOf: reactionKey })
  context.people.collect(found)
  return reactionFacts(found)
}

/** A timeline omits comments on lines; `lineComments` is how many there are. */
async function readTimeline(
  context: ReadContext,
  issue: JsonObject,
  lineComments: number,
): Promise<JsonObject[]> {
  const { forge, signal, notes } = context
  if (!forge.can.timeline) return []
  const number = integerIn(issue, 'number')
  const listing = {
    ...listingOf(context, `issues/${number}/timeline`),
    ...{ limit: forge.pageSize, mayHide: forge.mayHide, omitted: lineComments },
  }
  const list = () => listFiltered(forge.client, listing, signal)
  try {
    return await confirmAbsence(forge.client, list, signal)
  } catch (error) {
    if (!(error instanceof ForgeNotFound)) throw error
    if ((await findIssue(context, number)) === undefined) throw error
    forge.can.timeline = false
    notes.addNoTimeline(forge.version)
    return []
  }
}

/** No version has pages here. The number of comments in the issue may be wrong, so the timeline is checked too. */
async function readComments(
  context: ReadContext,
  issue: JsonObject,
  timeline: readonly JsonObject[],
): Promise<JsonObject[]> {
  const hasComment = timeline.some((entry) => stringIn(entry, 'type') === 'comment')
  if (integerIn(issue, 'comments') === 0 && !hasComment) return []
  return listWholePart(context, `issues/${integerIn(issue, 'number')}/comments`)
}

async function commentFacts(
  context: ReadContext,
  cache: CommentCache,
  files: AttachedFiles,
  issue: JsonObject,
  comments: readonly JsonObject[],
): Promise<IssueComment[]> {
  const on = discussedBy(issue)
  const facts: IssueComment[] = []
  for (const comment of comments) {
    const reactions = await commentReactions(context, cache, 'issue_comments', comment)
    facts.push(commentFact(`${context.owner}/${context.name}`, on, comment, reactions))
    await files.add({ kind: 'issue_comment', on, id: integerIn(comment, 'id') }, comment)
  }
  return facts
}

interface ReadReviews extends ReviewComments {
  answers: PullAnswers
  reviews: Review[]
  /** How many comments on lines the reviews have. */
  lineComments: number
}

async function readReviews(
  context: ReadContext,
  cache: CommentCache,
  files: AttachedFiles,
  issue: JsonObject,
  knownPull: JsonObject | undefined,
): Promise<ReadReviews> {
  const { people, owner, name } = context
  const number = integerIn(issue, 'number')
  const pull = knownPull ?? ((await getPart(context, `pulls/${number}`)).body as JsonObject)
  const listed = await listPart(context, `pulls/${number}/reviews`)
  people.collect([pull, listed])
  const answers = { repository: `${owner}/${name}`, issue, pull, reviews: listed }
  const read: ReadReviews = { answers, reviews: [], threads: [], comments: [], lineComments: 0 }
  for (const review of listed) {
    read.lineComments += integerIn(review, 'comments_count')
    if (stringIn(review, 'state') === 'PENDING')
      context.notes.addSkipped('reviews that are not sent yet')
    const state = reviewState(review)
    if (!state) continue
    read.reviews.push(reviewFact(answers, review, state))
    const id = integerIn(review, 'id')
    await files.add({ kind: 'pull_request_review', pull: number, id }, review, commentIdOf(review))
    const { threads, comments } = await readReviewComments(context, cache, files, answers, review)
    for (const each of threads) read.threads.push(each)
    for (const each of comments) read.comments.push(each)
  }
  return read
}

/** Comments are read every time, because editing one or resolving a thread does not change the review. */
async function readReviewComments(
  context: ReadContext,
  cache: CommentCache,
  files: AttachedFiles,
  answers: PullAnswers,
  review: JsonObject,
): Promise<ReviewComments> {
  if (review.comments_count === 0) return { threads: [], comments: [] }
  const [pull, reviewId] = [integerIn(answers.issue, 'number'), integerIn(review, 'id')]
  const comments = await listWholePart(context, `pulls/${pull}/reviews/${reviewId}/comments`)
  context.people.collect(comments)
  const reactions = new Map<number, readonly Reaction[]>()
  for (const comment of comments) {
    const id = integerIn(comment, 'id')
    const kind = 'pull_request_review_comments'
    reactions.set(id, await commentReactions(context, cache, kind, comment))
    await files.add({ kind: 'pull_request_review_comment', pull, id }, comment, id)
  }
  return reviewComments(answers, review, comments, (id) => reactions.get(id) ?? [])
}

/** Gitea stores a comment for each review. Its id is at the end of the review's URL. */
function commentIdOf(review: JsonObject): number | undefined {
  const found = /#issuecomment-(\d+)$/.exec(stringIn(review, 'html_url'))
  return found ? Number(found[1]) : undefined
}
