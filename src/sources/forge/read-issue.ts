import { createHash } from 'node:crypto'
import type { Reaction } from '../../records/fact.ts'
import type { AttachedTo } from '../../records/release.ts'
import type { Facts, Group } from '../discussions.ts'
import { linkedAttachments } from './attachment-links.ts'
import { eventFacts } from './event-facts.ts'
import { type Attached, attachmentFact, type ListedFile, listedFiles } from './file-facts.ts'
import { segment } from './forge-address.ts'
import { ForgeFailed, NotThere } from './forge-errors.ts'
import { type Entry, listAll, listFiltered, listWhole } from './forge-pages.ts'
import { numberIn, textIn } from './forge-values.ts'
import {
  commentFact,
  discussedBy,
  isPull,
  issueFact,
  reactionFacts,
  reactionKey,
} from './issue-facts.ts'
import type { KnownForge } from './known-forge.ts'
import type { Notes } from './notes.ts'
import type { People } from './people-facts.ts'
import { type PullAnswers, pullFact, reviewFact, reviewState, reviewTalk } from './pull-facts.ts'

export interface ReadContext {
  forge: KnownForge
  owner: string
  name: string
  notes: Notes
  people: People
  signal: AbortSignal
}

export const repositoryPath = ({ owner, name }: { owner: string; name: string }) =>
  `/repos/${segment(owner)}/${segment(name)}`

/** What a listing of issues shows of whether one has changed. */
export const issueVersion = (issue: Entry): string =>
  `${textIn(issue, 'updated_at')}|${numberIn(issue, 'comments')}|`

/** How many comments were read, as a version tells it. */
export const commentsIn = (version: string): number => Number(version.split('|')[2] ?? 0) || 0

export const issueKey = (issue: Entry): string => `issue/${numberIn(issue, 'number')}`

/**
 * All that belongs to an issue or a pull request; undefined where it is gone by now. What `kept` has of comments and reviews that
 * did not change is not asked for again.
 */
export async function readIssue(
  context: ReadContext,
  issue: Entry,
  kept: Group | undefined,
  pull?: Entry,
): Promise<Group | undefined> {
  try {
    return await new IssueReader(context, issue, kept).read(pull)
  } catch (error) {
    // Some versions answer 500 for what belongs to an issue that was deleted a moment ago.
    const mayBeGone = error instanceof NotThere || error instanceof ForgeFailed
    if (mayBeGone && (await findIssue(context, numberIn(issue, 'number'))) === undefined)
      return undefined
    throw error
  }
}

/** Undefined where there is none of that number. */
export async function findIssue(context: ReadContext, number: number): Promise<Entry | undefined> {
  const { client } = context.forge
  try {
    const { body } = await client.get(
      `${repositoryPath(context)}/issues/${number}`,
      {},
      context.signal,
    )
    const issue = body as Entry | null
    return issue && numberIn(issue, 'number') === number ? issue : undefined
  } catch (error) {
    if (error instanceof NotThere) return undefined
    throw error
  }
}

class IssueReader {
  readonly #context: ReadContext
  readonly #issue: Entry
  readonly #kept: Group | undefined
  readonly #path: string
  readonly #repository: string
  /** Versions of comments and reviews, by what they are: what is the same next time is not read again. */
  readonly #seen: Record<string, string> = {}
  readonly #attached: Attached[] = []

  constructor(context: ReadContext, issue: Entry, kept: Group | undefined) {
    this.#context = context
    this.#issue = issue
    this.#kept = kept
    this.#path = repositoryPath(context)
    this.#repository = `${context.owner}/${context.name}`
  }

  async read(knownPull: Entry | undefined): Promise<Group> {
    const { people } = this.#context
    const number = numberIn(this.#issue, 'number')
    const reactions = await this.#issueReactions(number)
    const pull = isPull(this.#issue) ? await this.#pull(number, knownPull) : undefined
    const timeline = await this.#timeline(number, pull?.codeComments ?? 0)
    const comments = await this.#comments(number, timeline)
    people.meet([this.#issue, comments, pull?.answers.pull, timeline])
    await this.#attach(discussedBy(this.#issue), this.#issue)
    const issueComments = await this.#commentFacts(comments)
    const events = eventFacts(
      {
        repository: this.#repository,
        issue: this.#issue,
        pull: pull?.answers.pull,
        miss: (what) => this.#context.notes.leave(what),
      },
      timeline,
    )
    if (events.some(({ actor }) => actor === 'ghost')) people.meetGhost()
    return this.#group({
      ...(pull
        ? { pull_requests: [pullFact(pull.answers, reactions)], ...pull.facts }
        : { issues: [issueFact(this.#repository, this.#issue, reactions)] }),
      issue_comments: issueComments,
      issue_events: events,
      attachments: this.#attached.map(({ fact }) => fact),
    })
  }

  #group(facts: Facts): Group {
    const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16)
    const comments = facts.issue_comments?.length ?? 0
    return {
      key: issueKey(this.#issue),
      version: `${issueVersion(this.#issue)}${comments}|${digest}`,
      facts,
      files: this.#attached.map(({ file }) => file),
      seen: this.#seen,
    }
  }

  /** Never paged, in no version. The number that an issue says it has may be wrong: the timeline knows better. */
  async #comments(number: number, timeline: readonly Entry[]): Promise<Entry[]> {
    const hasSome = timeline.some((entry) => textIn(entry, 'type') === 'comment')
    if (numberIn(this.#issue, 'comments') === 0 && !hasSome) return []
    const { forge, signal } = this.#context
    return listWhole(forge.client, `${this.#path}/issues/${number}/comments`, signal)
  }

  async #issueReactions(number: number): Promise<Reaction[]> {
    const { forge, signal, people } = this.#context
    const listing = { path: `${this.#path}/issues/${number}/reactions`, limit: forge.pageSize }
    const found = await listAll(forge.client, { ...listing, keyOf: reactionKey }, signal)
    people.meet(found)
    return reactionFacts(found)
  }

  /** Reactions do not change what they belong to: those of an unchanged comment are taken as they were. */
  async #commentReactions(kind: ReactedKind, comment: Entry): Promise<readonly Reaction[]> {
    const { forge, signal, people } = this.#context
    const id = numberIn(comment, 'id')
    const version = textIn(comment, 'updated_at')
    this.#seen[`comment/${id}`] = version
    if (this.#kept?.seen?.[`comment/${id}`] === version) {
      const known = this.#kept.facts[kind]?.find((each) => each.id === id)
      if (known) return known.reactions
    }
    const path = `${this.#path}/issues/comments/${id}/reactions`
    const found = await listWhole(forge.client, path, signal).catch((error: unknown) => {
      // Deleted since it was listed.
      if (error instanceof NotThere) return []
      throw error
    })
    people.meet(found)
    return reactionFacts(found)
  }

  async #commentFacts(comments: readonly Entry[]) {
    const on = discussedBy(this.#issue)
    const facts = []
    for (const comment of comments) {
      const id = numberIn(comment, 'id')
      const reactions = await this.#commentReactions('issue_comments', comment)
      facts.push(commentFact(this.#repository, on, comment, reactions))
      await this.#attach({ kind: 'issue_comment', on, id }, comment)
    }
    return facts
  }

  async #timeline(number: number, codeComments: number): Promise<Entry[]> {
    const { forge, signal, notes } = this.#context
    if (!forge.can.timeline) return []
    const path = `${this.#path}/issues/${number}/timeline`
    const listing = { path, limit: forge.pageSize, mayHide: forge.mayHide, leftOut: codeComments }
    try {
      return await listFiltered(forge.client, listing, signal)
    } catch (error) {
      if (!(error instanceof NotThere)) throw error
      if ((await findIssue(this.#context, number)) === undefined) throw error
      forge.can.timeline = false
      notes.noTimeline(forge.version)
      return []
    }
  }

  async #pull(number: number, known: Entry | undefined) {
    const { forge, signal, people } = this.#context
    const path = `${this.#path}/pulls/${number}`
    const pull = known ?? ((await forge.client.get(path, {}, signal)).body as Entry)
    const listing = { path: `${path}/reviews`, limit: forge.pageSize }
    const reviews = await listAll(forge.client, listing, signal)
    people.meet(reviews)
    const answers: PullAnswers = {
      repository: this.#repository,
      issue: this.#issue,
      pull,
      reviews,
    }
    return { answers, ...(await this.#reviews(answers)) }
  }

  async #reviews(answers: PullAnswers) {
    const pull = numberIn(this.#issue, 'number')
    const facts = {
      pull_request_reviews: [] as ReturnType<typeof reviewFact>[],
      pull_request_review_threads: [] as NonNullable<
        Facts['pull_request_review_threads']
      >[number][],
      pull_request_review_comments: [] as NonNullable<
        Facts['pull_request_review_comments']
      >[number][],
    }
    let codeComments = 0
    for (const review of answers.reviews) {
      codeComments += numberIn(review, 'comments_count')
      const state = reviewState(review)
      if (textIn(review, 'state') === 'PENDING')
        this.#context.notes.leave('reviews that are not sent yet')
      if (!state) continue
      facts.pull_request_reviews.push(reviewFact(answers, review, state))
      const id = numberIn(review, 'id')
      await this.#attach({ kind: 'pull_request_review', pull, id }, review, commentOfReview(review))
      const talk = this.#keptTalk(review) ?? (await this.#talk(answers, review))
      facts.pull_request_review_threads.push(...talk.threads)
      facts.pull_request_review_comments.push(...talk.comments)
    }
    return { facts, codeComments }
  }

  /** The comments of a review that has not changed. */
  #keptTalk(review: Entry) {
    const id = numberIn(review, 'id')
    const version = [
      textIn(review, 'updated_at') || textIn(review, 'submitted_at'),
      numberIn(review, 'comments_count'),
    ].join('|')
    this.#seen[`review/${id}`] = version
    if (this.#kept?.seen?.[`review/${id}`] !== version) return undefined
    const { facts, seen } = this.#kept
    const comments = facts.pull_request_review_comments?.filter((each) => each.review === id) ?? []
    for (const { id: comment } of comments) {
      const at = seen[`comment/${comment}`]
      if (at !== undefined) this.#seen[`comment/${comment}`] = at
      this.#keepAttached('pull_request_review_comment', comment)
    }
    const threads = facts.pull_request_review_threads?.filter((each) => each.review === id) ?? []
    return { threads, comments }
  }

  #keepAttached(kind: AttachedTo['kind'], id: number): void {
    for (const fact of this.#kept?.facts.attachments ?? []) {
      const file = this.#kept?.files.find((each) => each.file === fact.file)
      if (file && fact.on.kind === kind && 'id' in fact.on && fact.on.id === id)
        this.#attached.push({ fact, file })
    }
  }

  async #talk(answers: PullAnswers, review: Entry) {
    const { forge, signal, people } = this.#context
    if (review.comments_count === 0) return { threads: [], comments: [] }
    const [pull, id] = [numberIn(this.#issue, 'number'), numberIn(review, 'id')]
    const path = `${this.#path}/pulls/${pull}/reviews/${id}/comments`
    const comments = await listWhole(forge.client, path, signal)
    people.meet(comments)
    const reactions = new Map<number, readonly Reaction[]>()
    for (const comment of comments) {
      const commentId = numberIn(comment, 'id')
      reactions.set(
        commentId,
        await this.#commentReactions('pull_request_review_comments', comment),
      )
      const on = { kind: 'pull_request_review_comment' as const, pull, id: commentId }
      await this.#attach(on, comment, commentId)
    }
    return reviewTalk(answers, review, comments, (each) => reactions.get(each) ?? [])
  }

  /** The files of a text: as the forge lists them, else as the text links to them. */
  async #attach(on: AttachedTo, holder: Entry, askFor?: number): Promise<void> {
    const known = new Set(this.#attached.map(({ fact }) => fact.uuid))
    for (const file of await this.#filesOf(holder, askFor))
      if (!known.has(file.uuid))
        this.#attached.push(attachmentFact(this.#repository, on, holder, file))
  }

  async #filesOf(holder: Entry, askFor: number | undefined): Promise<ListedFile[]> {
    const { forge, notes, signal } = this.#context
    const external = () => notes.leave('attachments that are links to elsewhere')
    const linked = linkedAttachments(textIn(holder, 'body'), forge.client.url)
    if (!forge.can.issueAssets)
      return linked.map((each) => ({ ...each, size: null, createdAt: null }))
    if (Array.isArray(holder.assets)) return listedFiles(holder, external)
    // Reviews do not list their files, but the comments that they are do.
    if (askFor === undefined || linked.length === 0) return []
    const path = `${this.#path}/issues/comments/${askFor}/assets`
    const assets = await listWhole(forge.client, path, signal).catch((error: unknown) => {
      if (error instanceof NotThere) return []
      throw error
    })
    return listedFiles({ assets }, external)
  }
}

type ReactedKind = 'issue_comments' | 'pull_request_review_comments'

/** A review is shown as a comment of its own, whose number its address ends with. */
function commentOfReview(review: Entry): number | undefined {
  const found = /#issuecomment-(\d+)$/.exec(textIn(review, 'html_url'))
  return found ? Number(found[1]) : undefined
}
