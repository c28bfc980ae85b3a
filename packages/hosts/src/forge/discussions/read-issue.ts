import { hash } from 'node:crypto'
import type { IssueComment, Reaction } from '@godwit/archive/records/issue'
import type { Review } from '@godwit/archive/records/pull-request'
import { Losses } from '@godwit/lib/findings'
import type { Group, RecordsOfGroup } from '../../discussions.ts'
import { HostNotFound, HostRequestFailed, HostServerError } from '../../host-errors.ts'
import { repositoryPath } from '../../host-url.ts'
import { confirmAbsence } from '../../http/confirm-absence.ts'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { listFiltered } from '../../http/pages.ts'
import {
  commentRecord,
  dependencyRecords,
  eventRecords,
  isPull,
  issueOrPullOf,
  issueRecord,
  reactionKey,
  reactionRecords,
} from '../records/issue-records.ts'
import {
  type PullResponses,
  pullRecord,
  type ReviewComments,
  reviewComments,
  reviewRecord,
  reviewState,
} from '../records/pull-records.ts'
import {
  addAttachments,
  commentReactions,
  type IssueContext,
  storedAttachments,
} from './attachments-and-reactions.ts'
import {
  getPart,
  ifExists,
  listingOf,
  listPart,
  listUnpagedPart,
  type ReadContext,
} from './read-context.ts'

/**
 * Returns a string that changes when the entry of an issue in a listing changes. `updated_at` alone is not enough: deleting a
 * comment, or renaming a label or an account, does not change it.
 */
export function issueVersion(issue: Json): string {
  const { updatedAt, ...record } = issueRecord('', issue, [])
  const digest = hash('sha256', JSON.stringify([record, json.boolean(issue, 'is_locked')]))
  return `${updatedAt}|${json.integer(issue, 'comments')}|${digest.slice(0, 8)}|`
}

/** Returns how many comments were read, according to the version of the group. */
export const commentsIn = (version: string): number => Number(version.split('|')[3] ?? 0) || 0

export const issueKey = (issue: Json): string => `issue/${json.integer(issue, 'number')}`

/**
 * Reads everything about an issue or pull request. Returns undefined if it was deleted in the meantime. Reactions to comments that
 * have not changed are taken from `stored`.
 */
export async function readIssueGroup(context: ReadContext, issue: Json, stored: Group | undefined) {
  const { forge, signal, notes } = context
  const number = json.integer(issue, 'number')
  const known = notes.removeMissing(number) ? undefined : stored
  const read = () => {
    notes.removeMissing(number)
    const found = { attachments: [], seen: {}, losses: new Losses() }
    return readGroup({ ...context, issueNumber: number, issue, stored: known, ...found })
  }
  try {
    return await confirmAbsence(forge.client, read, signal)
  } catch (error) {
    // Some versions respond with 500 for parts of an issue that was deleted a moment ago.
    const mayBeDeleted = error instanceof HostNotFound || error instanceof HostServerError
    if (mayBeDeleted && (await findIssue(context, number)) === undefined) return undefined
    // The forge has the issue but not a part of it, and waiting does not help.
    throw error instanceof HostNotFound
      ? new HostRequestFailed(404, error.message, { cause: error })
      : error
  }
}

/** Returns undefined if the forge confirms that there is no issue with that number. */
export async function findIssue(context: ReadContext, number: number) {
  const response = await ifExists(context, () => getPart(context, `issues/${number}`))
  const issue = response && json.objectOf(response.body)
  if (issue && json.integer(issue, 'number') !== number) {
    const url = `${context.forge.client.url}${repositoryPath(context)}/issues/${number}`
    throw new HostRequestFailed(200, `${url} did not return this issue`)
  }
  return issue
}

/** Reads only the comments if nothing else of the issue has changed since it was stored. */
async function readGroup(context: IssueContext): Promise<Group> {
  const { people, issue, attachments, seen, stored, losses } = context
  // What was lost before is found again by reading everything.
  const isUnchanged = stored?.version.startsWith(issueVersion(issue)) && !stored.losses?.length
  const unchanged = isUnchanged ? stored : undefined
  attachments.push(...storedAttachments(unchanged, ({ kind }) => kind !== 'issue_comment'))
  const read = unchanged ? { records: unchanged.records, timeline: [] } : await readRest(context)
  const comments = await readComments(context, read.timeline)
  people.collect(comments)
  const issueComments = await commentRecords(context, comments)
  const records: RecordsOfGroup = {
    ...read.records,
    issue_comments: issueComments,
    attachments: attachments.map(({ record }) => record),
  }
  const digest = hash('sha256', JSON.stringify([records, losses.all()])).slice(0, 16)
  return {
    key: issueKey(issue),
    version: `${issueVersion(issue)}${issueComments.length}|${digest}`,
    records,
    files: attachments.map(({ file }) => file),
    losses: losses.all(),
    seen: { ...unchanged?.seen, ...seen },
  }
}

/** Reads everything of an issue or pull request but its comments. */
async function readRest(context: IssueContext) {
  const { people, fullName, issue, issueNumber, losses } = context
  const part = `issues/${issueNumber}/reactions`
  const listed = await listPart(context, part, { keyOf: reactionKey })
  const reactions = reactionRecords(listed)
  const responses = isPull(issue) ? await readPull(context) : undefined
  const timeline = await readTimeline(context, responses?.reviews ?? [])
  const pull = responses && (await readReviews(context, responses, timeline))
  const dependencies = await readDependencies(context, timeline)
  people.collect([issue, listed, timeline])
  await addAttachments(context, issueOrPullOf(issue), issue)
  const estimate = issue.time_estimate
  if (typeof estimate === 'number' && estimate > 0)
    losses.add('time_estimates', 1, `#${issueNumber}: ${estimate} s`)
  const onSkipped = (what: string) => losses.add('issue_events', 1, `#${issueNumber}: ${what}`)
  const eventContext = { repository: fullName, issue, pull: responses?.pull, onSkipped }
  const events = eventRecords(eventContext, timeline)
  if (events.some(({ actor }) => actor === json.GHOST)) people.addGhost()
  const records: RecordsOfGroup = {
    ...(pull
      ? {
          pull_requests: [{ ...pullRecord(responses, reactions), ...dependencies }],
          pull_request_reviews: pull.reviews,
          pull_request_review_threads: pull.threads,
          pull_request_review_comments: pull.comments,
        }
      : { issues: [{ ...issueRecord(fullName, issue, reactions), ...dependencies }] }),
    issue_events: events,
  }
  return { records, timeline }
}

/** A timeline omits inline comments, which `reviews` count. */
async function readTimeline(context: IssueContext, reviews: readonly Json[]): Promise<Json[]> {
  const { forge, signal, notes, issueNumber } = context
  if (!forge.can.timeline) return []
  const listing = {
    ...listingOf(context, `issues/${issueNumber}/timeline`),
    ...forge.paging,
    mayOmit: forge.isTokenRestricted,
    omitted: reviews.reduce((n, review) => n + json.integer(review, 'comments_count'), 0),
  }
  const list = () => listFiltered(forge.client, listing, signal)
  try {
    return await confirmAbsence(forge.client, list, signal)
  } catch (error) {
    if (!(error instanceof HostNotFound)) throw error
    if ((await findIssue(context, issueNumber)) === undefined) throw error
    forge.can.timeline = false
    notes.addNoTimeline(forge.version)
    return []
  }
}

/** The timeline does not say which of two issues depends on the other, so dependencies are requested if it has an entry about one. */
async function readDependencies(context: IssueContext, timeline: readonly Json[]) {
  const hasDependency = timeline.some((entry) => json.string(entry, 'type') === 'add_dependency')
  if (!hasDependency || !context.forge.can.dependencies) return {}
  const part = `issues/${context.issueNumber}/dependencies`
  // The forge responds with 404 if dependencies are turned off.
  const listed = await ifExists(context, () => listPart(context, part))
  return listed && listed.length > 0 ? { dependsOn: dependencyRecords(listed) } : {}
}

/** This endpoint has no pages in any version. The number of comments in the issue may be wrong, so the timeline is checked too. */
async function readComments(context: IssueContext, timeline: readonly Json[]) {
  const hasComment = timeline.some((entry) => json.string(entry, 'type') === 'comment')
  if (json.integer(context.issue, 'comments') === 0 && !hasComment) return []
  return listUnpagedPart(context, `issues/${context.issueNumber}/comments`)
}

async function commentRecords(context: IssueContext, comments: readonly Json[]) {
  const on = issueOrPullOf(context.issue)
  const records: IssueComment[] = []
  for (const comment of comments) {
    const reactions = await commentReactions(context, 'issue_comments', comment)
    records.push(commentRecord(context.fullName, on, comment, reactions))
    const id = json.integer(comment, 'id')
    await addAttachments(context, { kind: 'issue_comment', on, id }, comment)
  }
  return records
}

async function readPull(context: IssueContext): Promise<PullResponses> {
  const { people, fullName, issueNumber, issue } = context
  const pull = json.objectOf((await getPart(context, `pulls/${issueNumber}`)).body)
  const reviews = await listPart(context, `pulls/${issueNumber}/reviews`)
  people.collect([pull, reviews])
  return { repository: fullName, issue, pull, reviews }
}

/** Reads the reviews. The forge changes the text of a review only in the comment that it stores for each, which is in the timeline. */
async function readReviews(
  context: IssueContext,
  responses: PullResponses,
  timeline: readonly Json[],
) {
  const { issueNumber, losses } = context
  const entries = timeline.filter((entry) => json.string(entry, 'type') === 'review')
  const entryOf = new Map(entries.map((entry) => [json.integer(entry, 'review_id'), entry]))
  const reviews: Review[] = []
  const all: ReviewComments = { threads: [], comments: [] }
  for (const listed of responses.reviews) {
    const pending = `#${issueNumber}: a pending review, which only its author sees`
    if (json.string(listed, 'state') === 'PENDING') losses.add('pull_request_reviews', 1, pending)
    const state = reviewState(listed)
    if (!state) continue
    const id = json.integer(listed, 'id')
    const comment = entryOf.get(id) ?? commentOf(listed)
    const review = { ...listed, body: comment?.body ?? listed.body }
    const record = reviewRecord(responses, review, state)
    const reactions = comment
      ? await commentReactions(context, 'pull_request_reviews', comment, id)
      : []
    reviews.push({ ...record, reactions })
    const on = { kind: 'pull_request_review', pull: issueNumber, id } as const
    await addAttachments(context, on, review, comment)
    const { threads, comments } = await readReviewComments(context, responses, review)
    for (const each of threads) all.threads.push(each)
    for (const each of comments) all.comments.push(each)
  }
  return { reviews, ...all }
}

/** Comments are read every time, because editing one or resolving a thread does not change the review. */
async function readReviewComments(context: IssueContext, responses: PullResponses, review: Json) {
  if (review.comments_count === 0) return { threads: [], comments: [] }
  const { issueNumber: pull, people } = context
  const part = `pulls/${pull}/reviews/${json.integer(review, 'id')}/comments`
  const comments = await listUnpagedPart(context, part)
  people.collect(comments)
  const reactions = new Map<number, readonly Reaction[]>()
  for (const comment of comments) {
    const id = json.integer(comment, 'id')
    reactions.set(id, await commentReactions(context, 'pull_request_review_comments', comment))
    const on = { kind: 'pull_request_review_comment', pull, id } as const
    await addAttachments(context, on, comment, comment)
  }
  return reviewComments(responses, review, comments, (id) => reactions.get(id) ?? [])
}

/** Returns the comment that Gitea stores for a review, of which only the id is known, from the end of the review's URL. */
function commentOf(review: Json): Json | undefined {
  const found = /#issuecomment-(\d+)$/.exec(json.string(review, 'html_url'))
  return found ? { id: Number(found[1]) } : undefined
}
