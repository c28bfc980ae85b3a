import type { Issue, IssueComment, IssueEvent, Reaction } from '@godwit/archive/records/issue'
import type { Author, IssueOrPull } from '@godwit/archive/records/record'
import type { Json } from '../../http/json-fields.ts'
import * as json from '../../http/json-fields.ts'
import { reviewerOf } from './people-records.ts'

export const isPull = (issue: Json): boolean => json.object(issue, 'pull_request') !== undefined

export const issueOrPullOf = (issue: Json): IssueOrPull => ({
  kind: isPull(issue) ? 'pull_request' : 'issue',
  number: json.integer(issue, 'number'),
})

/** Returns the fields that issues and pull requests have in common. */
export const commonRecords = (
  issue: Json,
  reactions: readonly Reaction[],
): Omit<Issue, 'repository' | 'updatedAt'> => ({
  number: json.integer(issue, 'number'),
  author: json.author(issue, 'user'),
  title: json.string(issue, 'title'),
  body: json.string(issue, 'body'),
  assignees: assigneesOf(issue),
  milestone: milestoneOf(issue),
  labels: [...new Set(json.objects(issue, 'labels').map((label) => json.string(label, 'name')))],
  reactions,
  closedAt: closedAt(issue),
  createdAt: json.time(issue, 'created_at'),
  ...(json.timeOrNull(issue, 'due_date') && { dueOn: json.time(issue, 'due_date') }),
  ...(json.integer(issue, 'pin_order') > 0 && { pinOrder: json.integer(issue, 'pin_order') }),
})

/** Returns the issues and pull requests that another one depends on. The forge does not name those that the token may not see. */
export const dependencyRecords = (listed: readonly Json[]) =>
  listed.flatMap((issue) => {
    const repository = json.string(json.object(issue, 'repository') ?? {}, 'full_name')
    return repository ? [{ repository, ...issueOrPullOf(issue) }] : []
  })

export const issueRecord = (
  repository: string,
  issue: Json,
  reactions: readonly Reaction[],
): Issue => ({
  repository,
  ...commonRecords(issue, reactions),
  updatedAt: json.time(issue, 'updated_at'),
})

/** Old versions send one assignee, newer ones all of them. */
function assigneesOf(issue: Json): string[] {
  const all = json.objects(issue, 'assignees').map(json.loginOf)
  const one = json.object(issue, 'assignee')
  return [...new Set(all.length === 0 && one ? [json.loginOf(one)] : all)]
}

const milestoneOf = (issue: Json): number | null =>
  json.integer(json.object(issue, 'milestone') ?? {}, 'id') || null

/** A reopened issue may still have the time when it was closed, so the state decides. */
function closedAt(issue: Json): string | null {
  if (json.string(issue, 'state') !== 'closed') return null
  return json.timeOrNull(issue, 'closed_at') ?? json.time(issue, 'updated_at')
}

export const commentRecord = (
  repository: string,
  on: IssueOrPull,
  comment: Json,
  reactions: readonly Reaction[],
): IssueComment => ({
  repository,
  id: json.integer(comment, 'id'),
  on,
  author: json.author(comment, 'user'),
  body: json.string(comment, 'body'),
  reactions,
  createdAt: json.time(comment, 'created_at'),
})

export const reactionRecords = (reactions: readonly Json[]): Reaction[] =>
  reactions.map((reaction) => ({
    author: json.author(reaction, 'user'),
    content: json.string(reaction, 'content'),
    createdAt: json.time(reaction, 'created_at'),
  }))

export const reactionKey = (reaction: Json): string =>
  `${json.author(reaction, 'user')} ${json.string(reaction, 'content')} ${json.string(reaction, 'created_at')}`

interface EventContext {
  /** `owner/name` */
  repository: string
  issue: Json
  /** Undefined for an issue. */
  pull: Json | undefined
  /** Called for entries that archives cannot represent, or whose subject was deleted. */
  onSkipped: (what: string) => void
}

type Details = Omit<IssueEvent, 'repository' | 'id' | 'on' | 'actor' | 'createdAt'>

/**
 * Returns the events of an issue, from its timeline. Events that are missing there are derived from the issue itself, because old
 * versions and issues that were imported from another host have no timeline.
 */
export function eventRecords(context: EventContext, timeline: readonly Json[]): IssueEvent[] {
  const on = issueOrPullOf(context.issue)
  const events = timeline.flatMap((entry) =>
    detailsOf(entry, context).map((details, n) => ({
      repository: context.repository,
      id: idOf(entry, n),
      on,
      actor: json.author(entry, 'user'),
      createdAt: json.time(entry, 'created_at'),
      ...details,
    })),
  )
  return [...events, ...missingEvents(context, on, events)]
}

/** One entry may be several events, and each needs an id. */
const idOf = (entry: Json, n: number) => json.integer(entry, 'id') * 10 + n

function detailsOf(entry: Json, context: EventContext): Details[] {
  const { repository, pull, onSkipped } = context
  const [owner = ''] = repository.split('/')
  const subject = () =>
    reviewerOf(json.object(entry, 'assignee'), json.object(entry, 'assignee_team'), owner)
  const isRemoved = json.boolean(entry, 'removed_assignee')
  const type = json.string(entry, 'type')
  switch (type) {
    case 'close':
      return [{ event: 'closed', commit: null }]
    case 'merge_pull':
      return mergedDetails(repository, pull)
    case 'commit_ref': {
      const commit = json.commit(entry, 'ref_commit_sha')
      return [{ event: 'referenced', commit, commitRepository: repository }]
    }
    case 'label':
      return labelDetails(entry, onSkipped)
    case 'milestone':
      return milestoneDetails(entry, onSkipped)
    case 'assignees':
      return [{ event: isRemoved ? 'unassigned' : 'assigned', subject: subject() }]
    case 'review_request':
      return [
        { event: isRemoved ? 'review_request_removed' : 'review_requested', subject: subject() },
      ]
    case 'change_title':
      return [renamed('renamed', json.string(entry, 'old_title'), json.string(entry, 'new_title'))]
    case 'change_target_branch':
      return [
        renamed('base_ref_changed', json.string(entry, 'old_ref'), json.string(entry, 'new_ref')),
      ]
    case 'dismiss_review':
      if (json.string(entry, 'body') !== '') onSkipped('messages of dismissals')
      return []
    case 'pull_push':
      return forcePushDetails(entry, repository, pull)
    default:
      if (WITHOUT_DETAILS[type]) return [{ event: WITHOUT_DETAILS[type] }]
      if (!NOT_EVENTS.has(type)) onSkipped(`timeline entries of kind ${type || 'unknown'}`)
      return []
  }
}

const WITHOUT_DETAILS: Readonly<Record<string, string>> = {
  reopen: 'reopened',
  delete_branch: 'head_ref_deleted',
  lock: 'locked',
  unlock: 'unlocked',
  pin: 'pinned',
  unpin: 'unpinned',
}

/** Comments and reviews are separate records. Archives have no event for a mention in another issue. */
const NOT_EVENTS = new Set([
  ...['comment', 'code', 'review'],
  ...['issue_ref', 'comment_ref', 'pull_ref'],
])

const renamed = (event: string, from: string, to: string): Details => ({
  event,
  renamed: { from, to },
})

/** A merge is one entry in Gitea's timeline and two events in archives. */
const mergedDetails = (repository: string, pull: Json | undefined): Details[] => [
  {
    event: 'merged',
    commit: pull ? json.commit(pull, 'merge_commit_sha') : null,
    commitRepository: repository,
  },
  { event: 'closed', commit: null },
]

function labelDetails(entry: Json, onSkipped: EventContext['onSkipped']): Details[] {
  const label = json.object(entry, 'label')
  if (!label) {
    onSkipped('events of deleted labels')
    return []
  }
  const event = json.string(entry, 'body') === '1' ? 'labeled' : 'unlabeled'
  const [name, color] = [json.string(label, 'name'), labelColor(label)]
  return [{ event, label: { name, color, textColor: textColorOn(color) } }]
}

function milestoneDetails(entry: Json, onSkipped: EventContext['onSkipped']): Details[] {
  const before = json.object(entry, 'old_milestone')
  const after = json.object(entry, 'milestone')
  if (!before && !after) onSkipped('events of deleted milestones')
  return [
    ...(before ? [{ event: 'demilestoned', milestoneTitle: json.string(before, 'title') }] : []),
    ...(after ? [{ event: 'milestoned', milestoneTitle: json.string(after, 'title') }] : []),
  ]
}

/** Returns no event for an ordinary push. Its commits are in the git repository. */
function forcePushDetails(entry: Json, repository: string, pull: Json | undefined) {
  const { is_force_push, commit_ids } = parsePushBody(json.string(entry, 'body'))
  const [before, after] = Array.isArray(commit_ids) ? commit_ids : []
  if (is_force_push !== true || typeof before !== 'string' || typeof after !== 'string') return []
  const ref = json.string(json.object(pull ?? {}, 'head') ?? {}, 'ref')
  const forcePush = { ref, before, after }
  return [{ event: 'head_ref_force_pushed', forcePush, commitRepository: repository }]
}

function parsePushBody(text: string): { is_force_push?: unknown; commit_ids?: unknown } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

/** Returns the events that the timeline lacks but the state of the issue implies. The actor is known only for a merge. */
function missingEvents(
  { repository, issue, pull }: EventContext,
  on: IssueOrPull,
  events: readonly IssueEvent[],
): IssueEvent[] {
  const added: IssueEvent[] = []
  const add = (n: number, actor: Author, createdAt: string, details: Details) =>
    added.push({ repository, id: idOf(issue, n), on, actor, createdAt, ...details })
  const last = (...names: string[]) => events.findLast(({ event }) => names.includes(event))?.event
  const mergedAt = pull && json.boolean(pull, 'merged') ? json.timeOrNull(pull, 'merged_at') : null
  const merger = mergedAt && pull ? json.author(pull, 'merged_by') : json.GHOST
  const [merged, closed] = mergedDetails(repository, pull)
  if (mergedAt && last('merged') === undefined) add(8, merger, mergedAt, merged!)
  const closedSince = closedAt(issue)
  if (closedSince && last('closed', 'reopened') !== 'closed')
    add(9, merger, mergedAt ?? closedSince, closed!)
  if (json.boolean(issue, 'is_locked') && last('locked', 'unlocked') !== 'locked')
    add(7, json.GHOST, json.time(issue, 'updated_at'), { event: 'locked' })
  return added
}

/** Returns six hex digits, without the `#` that Gitea 1.15 may send before them. */
export function labelColor(label: Json): string {
  const color = json.string(label, 'color').replace(/^#/, '').toLowerCase()
  return /^[0-9a-f]{6}$/.test(color) ? color : 'ededed'
}

/** Returns black for light colours and white for dark ones. */
function textColorOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) =>
    Number.parseInt(color.slice(at, at + 2), 16),
  )
  return (red * 299 + green * 587 + blue * 114) / 1000 >= 128 ? '000000' : 'ffffff'
}
