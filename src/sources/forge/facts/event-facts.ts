import type { Author, Discussed } from '../../../records/fact.ts'
import type { IssueEvent } from '../../../records/issue.ts'
import type { Entry } from '../client/forge-pages.ts'
import {
  authorIn,
  commitIn,
  entryIn,
  flagIn,
  GHOST,
  numberIn,
  textIn,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'
import { closedAt, discussedBy } from './issue-facts.ts'
import { partyOf } from './people-facts.ts'

export interface EventContext {
  /** `owner/name` */
  repository: string
  issue: Entry
  /** Undefined for an issue. */
  pull: Entry | undefined
  /** Told of entries that have no word in an archive, or lost what they were about. */
  miss: (what: string) => void
}

type Details = Omit<IssueEvent, 'repository' | 'id' | 'on' | 'actor' | 'createdAt'>

/**
 * Events as archives have them, from a timeline, and from the record itself where the timeline does not tell how it came
 * to be: old versions have no timeline, and what was brought from elsewhere has none either.
 */
export function eventFacts(context: EventContext, timeline: readonly Entry[]): IssueEvent[] {
  const on = discussedBy(context.issue)
  const events = timeline.flatMap((entry) =>
    detailsOf(entry, context).map((details, n) => ({
      repository: context.repository,
      // One entry may be two events: archives want a number for each.
      id: numberIn(entry, 'id') * 10 + n,
      on,
      actor: authorIn(entry, 'user'),
      createdAt: timeIn(entry, 'created_at'),
      ...details,
    })),
  )
  return [...events, ...missingEvents(context, on, events)]
}

function detailsOf(entry: Entry, context: EventContext): Details[] {
  const { repository, pull, miss } = context
  const [owner = ''] = repository.split('/')
  const subject = () => partyOf(entryIn(entry, 'assignee'), entryIn(entry, 'assignee_team'), owner)
  const isRemoved = flagIn(entry, 'removed_assignee')
  const type = textIn(entry, 'type')
  switch (type) {
    case 'close':
      return [{ event: 'closed', commit: null }]
    case 'merge_pull':
      return mergedDetails(repository, pull)
    case 'commit_ref':
      return [
        {
          event: 'referenced',
          commit: commitIn(entry, 'ref_commit_sha'),
          commitRepository: repository,
        },
      ]
    case 'label':
      return labelDetails(entry, miss)
    case 'milestone':
      return milestoneDetails(entry, miss)
    case 'assignees':
      return [{ event: isRemoved ? 'unassigned' : 'assigned', subject: subject() }]
    case 'review_request':
      return [
        { event: isRemoved ? 'review_request_removed' : 'review_requested', subject: subject() },
      ]
    case 'change_title':
      return [renamed('renamed', textIn(entry, 'old_title'), textIn(entry, 'new_title'))]
    case 'change_target_branch':
      return [renamed('base_ref_changed', textIn(entry, 'old_ref'), textIn(entry, 'new_ref'))]
    case 'pull_push':
      return forcePushDetails(entry, repository, pull)
    default:
      if (PLAIN[type]) return [{ event: PLAIN[type] }]
      if (!NO_EVENT.has(type)) miss(`timeline entries of kind ${type || 'unknown'}`)
      return []
  }
}

const PLAIN: Readonly<Record<string, string>> = {
  reopen: 'reopened',
  delete_branch: 'head_ref_deleted',
  lock: 'locked',
  unlock: 'unlocked',
  pin: 'pinned',
  unpin: 'unpinned',
}

/** Comments and reviews are facts of their own; a mention from elsewhere is no event in an archive. */
const NO_EVENT = new Set([
  ...['comment', 'code', 'review', 'dismiss_review'],
  ...['issue_ref', 'comment_ref', 'pull_ref'],
])

const renamed = (event: string, from: string, to: string): Details => ({
  event,
  renamed: { from, to },
})

/** Gitea says one thing when a pull request is merged, archives say two. */
const mergedDetails = (repository: string, pull: Entry | undefined): Details[] => [
  {
    event: 'merged',
    commit: pull ? commitIn(pull, 'merge_commit_sha') : null,
    commitRepository: repository,
  },
  { event: 'closed', commit: null },
]

function labelDetails(entry: Entry, miss: EventContext['miss']): Details[] {
  const label = entryIn(entry, 'label')
  if (!label) {
    miss('events of labels that are deleted')
    return []
  }
  const color = labelColor(label)
  return [
    {
      event: textIn(entry, 'body') === '1' ? 'labeled' : 'unlabeled',
      label: { name: textIn(label, 'name'), color, textColor: textColorOn(color) },
    },
  ]
}

function milestoneDetails(entry: Entry, miss: EventContext['miss']): Details[] {
  const before = entryIn(entry, 'old_milestone')
  const after = entryIn(entry, 'milestone')
  if (!before && !after) miss('events of milestones that are deleted')
  return [
    ...(before ? [{ event: 'demilestoned', milestoneTitle: textIn(before, 'title') }] : []),
    ...(after ? [{ event: 'milestoned', milestoneTitle: textIn(after, 'title') }] : []),
  ]
}

/** An ordinary push is no event; what it brought is in the commits. */
function forcePushDetails(entry: Entry, repository: string, pull: Entry | undefined): Details[] {
  const { is_force_push, commit_ids } = parsed(textIn(entry, 'body'))
  const [before, after] = Array.isArray(commit_ids) ? commit_ids : []
  if (is_force_push !== true || typeof before !== 'string' || typeof after !== 'string') return []
  const head = pull && entryIn(pull, 'head')
  const ref = head ? textIn(head, 'ref') : ''
  return [
    {
      event: 'head_ref_force_pushed',
      forcePush: { ref, before, after },
      commitRepository: repository,
    },
  ]
}

function parsed(text: string): { is_force_push?: unknown; commit_ids?: unknown } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

/** What must have happened, for the record to be as it is. Who did it is not known, but for a merge. */
function missingEvents(
  { repository, issue, pull }: EventContext,
  on: Discussed,
  events: readonly IssueEvent[],
): IssueEvent[] {
  const made: IssueEvent[] = []
  const make = (n: number, actor: Author, createdAt: string, details: Details) =>
    made.push({ repository, id: numberIn(issue, 'id') * 10 + n, on, actor, createdAt, ...details })
  const last = (...names: string[]) => events.findLast(({ event }) => names.includes(event))?.event
  const mergedAt = pull && flagIn(pull, 'merged') ? timeOrNull(pull, 'merged_at') : null
  const merger = mergedAt && pull ? authorIn(pull, 'merged_by') : GHOST
  const [merged, closed] = mergedDetails(repository, pull)
  if (mergedAt && last('merged') === undefined) make(8, merger, mergedAt, merged!)
  const closedSince = closedAt(issue)
  if (closedSince && last('closed', 'reopened') !== 'closed')
    make(9, merger, mergedAt ?? closedSince, closed!)
  if (flagIn(issue, 'is_locked') && last('locked', 'unlocked') !== 'locked')
    make(7, GHOST, timeIn(issue, 'updated_at'), { event: 'locked' })
  return made
}

/** Six hex digits; Gitea 1.15 may write `#` before them. */
export function labelColor(label: Entry): string {
  const color = textIn(label, 'color').replace(/^#/, '').toLowerCase()
  return /^[0-9a-f]{6}$/.test(color) ? color : 'ededed'
}

/** Black on light colours, white on dark ones. */
function textColorOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) =>
    Number.parseInt(color.slice(at, at + 2), 16),
  )
  return (red * 299 + green * 587 + blue * 114) / 1000 >= 128 ? '000000' : 'ffffff'
}
