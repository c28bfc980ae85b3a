import { createHash } from 'node:crypto'
import type { Reaction } from '../../../records/fact.ts'
import type { IssueComment } from '../../../records/issue.ts'
import type { Facts, Group } from '../../discussions.ts'
import { ForgeError, ForgeNotFound, ForgeRefused } from '../../forge-errors.ts'
import { confirmAbsence } from '../client/confirm-absence.ts'
import { type Entry, listFiltered } from '../client/forge-pages.ts'
import { flagIn, numberIn, textIn } from '../client/forge-values.ts'
import { eventFacts } from '../facts/event-facts.ts'
import {
  commentFact,
  discussedBy,
  isPull,
  issueFact,
  reactionFacts,
  reactionKey,
} from '../facts/issue-facts.ts'
import { pullFact } from '../facts/pull-facts.ts'
import { AttachedFiles } from './attached-files.ts'
import { commentReactions, type Memory } from './comment-reactions.ts'
import {
  getPart,
  ifExists,
  listingOf,
  listPart,
  listWholePart,
  type ReadContext,
  repositoryPath,
} from './read-context.ts'
import { type ReadReviews, readReviews } from './read-reviews.ts'

/**
 * What a listing of issues shows of whether one has changed. The time alone does not: who deletes a comment, or gives a label or an
 * account another name, leaves it as it was.
 */
export function issueVersion(issue: Entry): string {
  const { updatedAt, ...shown } = issueFact('', issue, [])
  const digest = createHash('sha256')
    .update(JSON.stringify([shown, flagIn(issue, 'is_locked')]))
    .digest('hex')
  return `${updatedAt}|${numberIn(issue, 'comments')}|${digest.slice(0, 8)}|`
}

/** How many comments were read, as a version tells it. */
export const commentsIn = (version: string): number => Number(version.split('|')[3] ?? 0) || 0

export const issueKey = (issue: Entry): string => `issue/${numberIn(issue, 'number')}`

/**
 * All that belongs to an issue or a pull request; undefined where it is gone by now. Reactions that `kept` has to comments that
 * did not change are not asked for again.
 */
export async function readIssueGroup(
  context: ReadContext,
  issue: Entry,
  kept: Group | undefined,
  pull?: Entry,
): Promise<Group | undefined> {
  const { forge, signal, notes } = context
  const number = numberIn(issue, 'number')
  const read = () => {
    notes.forgetMissing(number)
    return readGroup({ ...context, issue: number }, issue, { kept, seen: {} }, pull)
  }
  try {
    return await confirmAbsence(forge.client, read, signal)
  } catch (error) {
    // Some versions answer 500 for what belongs to an issue that was deleted a moment ago.
    const mayBeGone = error instanceof ForgeNotFound || error instanceof ForgeError
    if (mayBeGone && (await findIssue(context, number)) === undefined) return undefined
    // The forge has the issue and not what belongs to it. Waiting does not help.
    throw error instanceof ForgeNotFound
      ? new ForgeRefused(404, error.message, { cause: error })
      : error
  }
}

/** Undefined where the forge says that there is none of that number. */
export async function findIssue(context: ReadContext, number: number): Promise<Entry | undefined> {
  const answer = await ifExists(context, () => getPart(context, `issues/${number}`))
  const issue = answer && ((answer.body ?? {}) as Entry)
  if (issue && numberIn(issue, 'number') !== number) {
    const where = `${context.forge.client.url}${repositoryPath(context)}/issues/${number}`
    throw new ForgeRefused(200, `${where} is something else than this issue`)
  }
  return issue
}

async function readGroup(
  context: ReadContext,
  issue: Entry,
  memory: Memory,
  knownPull: Entry | undefined,
): Promise<Group> {
  const { people, notes, owner, name } = context
  const repository = `${owner}/${name}`
  const files = new AttachedFiles(context)
  const reactions = await readReactions(context, issue)
  const pull = isPull(issue)
    ? await readReviews(context, memory, files, issue, knownPull)
    : undefined
  const timeline = await readTimeline(context, issue, pull?.codeComments ?? 0)
  const comments = await readComments(context, issue, timeline)
  people.meet([issue, comments, timeline])
  await files.add(discussedBy(issue), issue)
  const issueComments = await commentFacts(context, memory, files, issue, comments)
  const miss = (what: string) => notes.skipped(what)
  const events = eventFacts({ repository, issue, pull: pull?.answers.pull, miss }, timeline)
  if (events.some(({ actor }) => actor === 'ghost')) people.meetGhost()
  const facts: Facts = {
    ...(pull ? pullFacts(pull, reactions) : { issues: [issueFact(repository, issue, reactions)] }),
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
    seen: memory.seen,
  }
}

const pullFacts = ({ answers, reviews, talk }: ReadReviews, reactions: Reaction[]): Facts => ({
  pull_requests: [pullFact(answers, reactions)],
  pull_request_reviews: reviews,
  pull_request_review_threads: talk.threads,
  pull_request_review_comments: talk.comments,
})

async function readReactions(context: ReadContext, issue: Entry): Promise<Reaction[]> {
  const part = `issues/${numberIn(issue, 'number')}/reactions`
  const found = await listPart(context, part, { keyOf: reactionKey })
  context.people.meet(found)
  return reactionFacts(found)
}

async function readTimeline(
  context: ReadContext,
  issue: Entry,
  codeComments: number,
): Promise<Entry[]> {
  const { forge, signal, notes } = context
  if (!forge.can.timeline) return []
  const number = numberIn(issue, 'number')
  const listing = {
    ...listingOf(context, `issues/${number}/timeline`),
    ...{ limit: forge.pageSize, mayHide: forge.mayHide, leftOut: codeComments },
  }
  const list = () => listFiltered(forge.client, listing, signal)
  try {
    return await confirmAbsence(forge.client, list, signal)
  } catch (error) {
    if (!(error instanceof ForgeNotFound)) throw error
    if ((await findIssue(context, number)) === undefined) throw error
    forge.can.timeline = false
    notes.noTimeline(forge.version)
    return []
  }
}

/** Never paged, in no version. The number that an issue says it has may be wrong: the timeline knows better. */
async function readComments(
  context: ReadContext,
  issue: Entry,
  timeline: readonly Entry[],
): Promise<Entry[]> {
  const hasSome = timeline.some((entry) => textIn(entry, 'type') === 'comment')
  if (numberIn(issue, 'comments') === 0 && !hasSome) return []
  return listWholePart(context, `issues/${numberIn(issue, 'number')}/comments`)
}

async function commentFacts(
  context: ReadContext,
  memory: Memory,
  files: AttachedFiles,
  issue: Entry,
  comments: readonly Entry[],
): Promise<IssueComment[]> {
  const on = discussedBy(issue)
  const facts: IssueComment[] = []
  for (const comment of comments) {
    const reactions = await commentReactions(context, memory, 'issue_comments', comment)
    facts.push(commentFact(`${context.owner}/${context.name}`, on, comment, reactions))
    await files.add({ kind: 'issue_comment', on, id: numberIn(comment, 'id') }, comment)
  }
  return facts
}
