import { formatCount } from '@godwit/lib/quantities'
import type { Issue, IssueComment, IssueEvent } from '../../records/issue.ts'
import type {
  PullRequest,
  Review,
  ReviewComment,
  ReviewThread,
} from '../../records/pull-request.ts'
import type { EventSubject } from '../../records/record.ts'
import { type Html, html, relativeUrl, timeHtml } from './html.ts'
import {
  labelHtml,
  type PageLinks,
  type RepositorySite,
  type Site,
  type Writing,
  writingHtml,
} from './site.ts'
import type { Upload } from './site-rows.ts'

export type Item = Issue | PullRequest

/** The lists of issues and pull requests, which have the same form. */
export type ItemTable = 'issues' | 'pulls'

export type ItemState = 'open' | 'draft' | 'merged' | 'closed'

export function stateOf(item: Item): ItemState {
  if ('mergedAt' in item && item.mergedAt !== null) return 'merged'
  if (item.closedAt !== null) return 'closed'
  return 'draft' in item && item.draft ? 'draft' : 'open'
}

export const stateHtml = (state: ItemState, table: ItemTable): Html =>
  html`<span class="state ${state} ${table}">${state[0]!.toUpperCase() + state.slice(1)}</span>`

type Conversation = { comments: IssueComment[]; events: IssueEvent[]; reviews: Review[] }

/** A thread of comments on lines. `record` is undefined in inputs that have only comments. */
type Thread = { record: ReviewThread | undefined; comments: ReviewComment[] }

interface ItemContext {
  site: Site
  repository: RepositorySite
  path: string
  links: PageLinks
  /** By the id of the element that they belong to, or '' for the text of the item itself. */
  uploads: ReadonlyMap<string, Upload[]>
}

/** Writes the page of an issue or a pull request, and returns how many comments, and how many rows of uploads it shows. */
export async function writeItemPage(
  site: Site,
  repository: RepositorySite,
  table: ItemTable,
  item: Item,
): Promise<{ comments: number; rows: number }> {
  const { number } = item
  const { records } = repository
  const path = `${repository.directory}/${table}/${number}.html`
  const uploads = site.uploads(repository, { kind: 'issue', number })
  const context: ItemContext = {
    site,
    repository,
    path,
    links: site.linksFrom(path, repository),
    uploads: Map.groupBy(uploads, ({ anchor }) => anchor),
  }
  const conversation = {
    comments: records.of('issue_comments', number),
    events: records.of('issue_events', number),
    reviews: records.of('pull_request_reviews', number),
  }
  const onLines = table === 'pulls' ? records.of('pull_request_review_comments', number) : []
  const threads = onLines.length > 0 ? records.of('pull_request_review_threads', number) : []
  const comments = conversation.comments.length + onLines.length
  const opening = commentHtml(context, {
    id: '',
    author: item.author,
    at: item.createdAt,
    verb: 'wrote',
    writing: { body: item.body, reactions: item.reactions },
  })
  const body = html`<h1><bdi>${item.title}</bdi> <span class="muted">#${number}</span></h1>
<p class="summary">${stateHtml(stateOf(item), table)} ${site.person(item.author)} opened this on ${timeHtml(item.createdAt)} · ${formatCount(comments, 'comment')}${branchesHtml(item)}</p>
<div class="columns">
<div class="timeline">
${opening}
${timelineHtml(context, conversation, groupThreads(onLines, threads))}
</div>
${propertiesHtml(context, item)}
</div>`
  await site.writePage({ path, title: `${item.title} #${number}`, body, repository })
  const rows = comments + conversation.events.length + conversation.reviews.length
  return { comments, rows }
}

function branchesHtml(item: Item): Html | undefined {
  if (!('head' in item)) return undefined
  const { head, base } = item
  const isSameRepository = head.repository?.toLowerCase() === item.repository.toLowerCase()
  const from = isSameRepository ? head.ref : `${head.owner ?? 'ghost'}:${head.ref}`
  return html`<br>From <code>${from}</code> (<code>${head.sha.slice(0, 10)}</code>) into <code>${base.ref}</code>${item.mergedAt !== null && html`, merged on ${timeHtml(item.mergedAt)}`}`
}

/** Groups comments by thread. Without threads, a reply belongs to the group of the comment that it replies to. */
function groupThreads(comments: readonly ReviewComment[], records: readonly ReviewThread[]) {
  const byId = new Map(records.map((record) => [record.id, record]))
  const byThread = new Map<number, Thread>()
  const byComment = new Map<number, Thread>()
  const threads: Thread[] = []
  for (const comment of comments) {
    const { id, thread, inReplyTo } = comment
    let group = byThread.get(thread ?? Number.NaN) ?? byComment.get(inReplyTo ?? Number.NaN)
    if (!group) {
      group = { record: byId.get(thread ?? Number.NaN), comments: [] }
      threads.push(group)
      if (thread !== null) byThread.set(thread, group)
    }
    group.comments.push(comment)
    byComment.set(id, group)
  }
  return threads
}

/** Shows everything in the order of time. A thread is shown with its review, or at its own time if the input does not have the review. */
function timelineHtml(context: ItemContext, shown: Conversation, threads: readonly Thread[]) {
  const reviewIds = new Set(shown.reviews.map(({ id }) => id))
  const threadsByReview = Map.groupBy(threads, ({ comments }) => {
    const { review } = comments[0]!
    return review !== null && reviewIds.has(review) ? review : undefined
  })
  const entries = [
    ...shown.comments.map(({ id, author, createdAt: at, ...writing }) => {
      const comment = { id: `issuecomment-${id}`, author, at, verb: 'commented', writing }
      return { at, html: commentHtml(context, comment) }
    }),
    ...shown.events.map((event) => ({ at: event.createdAt, html: eventHtml(context, event) })),
    ...shown.reviews.map(({ id, author, state, submittedAt, createdAt, ...writing }) => {
      const at = submittedAt ?? createdAt
      const comment = {
        id: `pullrequestreview-${id}`,
        author,
        at,
        verb: REVIEW_VERBS[state],
        writing,
      }
      const review = { className: state, threads: threadsByReview.get(id) ?? [] }
      return { at, html: commentHtml(context, { ...comment, ...review }) }
    }),
    ...(threadsByReview.get(undefined) ?? []).map((thread) => ({
      at: thread.comments[0]!.createdAt,
      html: threadHtml(context, thread, 2),
    })),
  ]
  const timeOf = ({ at }: { at: string }) => Date.parse(at) || 0
  return entries.sort((a, b) => timeOf(a) - timeOf(b)).map((entry) => entry.html)
}

const REVIEW_VERBS: Record<Review['state'], string> = {
  approved: 'approved these changes',
  changes_requested: 'requested changes',
  commented: 'reviewed',
  dismissed: 'reviewed (dismissed)',
  pending: 'started a review (not submitted)',
}

interface CommentContent {
  /** The id of the element, or '' for the text of the item itself. */
  id: string
  author: string | null
  at: string
  verb: string
  writing: Pick<Writing, 'body' | 'reactions'>
  headingLevel?: number
  className?: string
  threads?: readonly Thread[]
}

function commentHtml(context: ItemContext, options: CommentContent): Html {
  const { id, author, at, verb, writing, headingLevel = 2, className, threads = [] } = options
  const { site, path, links, uploads } = context
  const time = timeHtml(at)
  const head = html`${site.person(author)} <span class="muted">${verb} on ${id ? html`<a href="#${id}">${time}</a>` : time}</span>`
  const shown = { ...writing, uploads: uploads.get(id) ?? [], headingLevel }
  return html`<article class="comment${className && ` ${className}`}"${id && html` id="${id}"`}>
${headingLevel === 2 ? html`<h2>${head}</h2>` : html`<h3>${head}</h3>`}
${writingHtml(path, links, shown)}${threads.map((thread) => threadHtml(context, thread, 3))}</article>
`
}

function threadHtml(
  context: ItemContext,
  { record, comments }: Thread,
  headingLevel: number,
): Html {
  const [first] = comments
  const { path, diffHunk } = record ?? first!
  const line = record?.line ?? record?.originalLine
  const isOutdated = record?.outdated ?? first!.position === null
  return html`<div class="thread" role="group" aria-label="Comments on ${path}">
<p class="place"><code>${path}</code>${line != null && html`, line ${line}`}${isOutdated && html` <span class="note">Outdated</span>`}${record?.resolvedAt && html` <span class="note">Resolved by ${record.resolver ?? 'ghost'}</span>`}</p>
${diffHtml(diffHunk || first!.diffHunk)}
${comments.map((comment) =>
  commentHtml(context, {
    ...{ id: `discussion_r${comment.id}`, author: comment.author, at: comment.createdAt },
    writing: comment,
    headingLevel,
    verb: comment.state === 'pending' ? 'commented (not submitted)' : 'commented',
  }),
)}</div>
`
}

const SHOWN_LINES = 8
const LINE_CLASSES: Record<string, string> = { '+': 'added', '-': 'removed', '@': 'position' }

/** Shows the last lines of a hunk, which the comment is about; the lines before can be opened. */
function diffHtml(hunk: string): Html | undefined {
  if (hunk === '') return undefined
  const lines = hunk.replace(/\r?\n$/, '').split('\n')
  const show = (some: readonly string[]) =>
    html`<pre class="diff">${some.map((line) => html`<span class="${LINE_CLASSES[line[0] ?? '']}">${line}\n</span>`)}</pre>`
  if (lines.length <= SHOWN_LINES + 1) return show(lines)
  const before = lines.slice(0, -SHOWN_LINES)
  return html`<details><summary>${formatCount(before.length, 'line')} before</summary>${show(before)}</details>${show(lines.slice(-SHOWN_LINES))}`
}

/** Other events are shown with their own names. */
const EVENT_VERBS = new Map(
  Object.entries({
    base_ref_changed: 'changed the base branch',
    closed: 'closed this',
    demilestoned: 'removed this from the milestone',
    head_ref_deleted: 'deleted the branch',
    head_ref_force_pushed: 'force-pushed the branch',
    head_ref_restored: 'restored the branch',
    labeled: 'added the label',
    locked: 'locked the conversation',
    merged: 'merged this',
    milestoned: 'added this to the milestone',
    renamed: 'changed the title',
    reopened: 'reopened this',
    review_requested: 'requested a review from',
    transferred: 'moved this here from',
    unlabeled: 'removed the label',
    unlocked: 'unlocked the conversation',
  }),
)

function eventHtml({ site, repository }: ItemContext, event: IssueEvent): Html {
  const { id, label, milestoneTitle, renamed, subject, commit, forcePush } = event
  const sha = (oid: string) => html`<code>${oid.slice(0, 10)}</code>`
  const details = [
    label && labelHtml(label.name, label.color || repository.colors.get(label.name)),
    milestoneTitle !== undefined && html`<b><bdi>${milestoneTitle}</bdi></b>`,
    renamed &&
      html`from <del><bdi>${renamed.from}</bdi></del> to <ins><bdi>${renamed.to}</bdi></ins>`,
    subject && subjectHtml(site, subject),
    forcePush &&
      html`<code>${forcePush.ref}</code> from ${sha(forcePush.before)} to ${sha(forcePush.after)}`,
    commit && html`in ${sha(commit)}`,
  ]
  const verb = EVENT_VERBS.get(event.event) ?? event.event.replaceAll('_', ' ')
  return html`<p class="event" id="event-${id}">${site.person(event.actor)} ${verb} ${details.map((each) => each && html`${each} `)}${timeHtml(event.createdAt)}</p>
`
}

function subjectHtml(site: Site, subject: EventSubject): Html {
  if (subject.kind === 'user') return site.person(subject.login)
  return subject.kind === 'team'
    ? html`<b>${subject.organization}/${subject.slug}</b>`
    : html`<b>${subject.repository}</b>`
}

/** Shows the assignees, labels and so on beside the conversation. */
function propertiesHtml({ site, repository, path, links }: ItemContext, item: Item): Html {
  const { milestone } = item
  const milestones = milestone === null ? [] : repository.records.of('milestones', milestone)
  const page = `${repository.directory}/milestones/index.html#milestone-${milestone}`
  const { reviewRequests, closes } = 'head' in item ? item : { reviewRequests: [], closes: [] }
  const requests = reviewRequests.filter(({ dismissedAt }) => dismissedAt === null)
  const properties: [title: string, values: Html[]][] = [
    ['Assignees', item.assignees.map((login) => site.person(login))],
    ['Labels', item.labels.map((name) => labelHtml(name, repository.colors.get(name)))],
    [
      'Milestone',
      milestones.map(
        ({ title }) => html`<a href="${relativeUrl(path, page)}"><bdi>${title}</bdi></a>`,
      ),
    ],
    ['Review requests', requests.map(({ reviewer }) => subjectHtml(site, reviewer))],
    [
      'Closes',
      closes.map(({ repository: name, issue }) => {
        const text = name === item.repository ? `#${issue}` : `${name}#${issue}`
        const url = links.item(issue, name)
        return url ? html`<a href="${url}">${text}</a>` : html`${text}`
      }),
    ],
  ]
  const shown = properties.flatMap(([title, values]) =>
    values.length > 0
      ? html`<div><h2>${title}</h2><ul>${values.map((value) => html`<li>${value}</li>`)}</ul></div>\n`
      : [],
  )
  return html`${shown.length > 0 && html`<aside aria-label="Properties">${shown}</aside>`}`
}
