import type { Author, Discussed, DiscussionFact, Party, Reaction } from './fact.ts'

/** Open while `closedAt` is null. Whether it is locked is what the last of its `locked` and `unlocked` events says. */
export interface Issue extends DiscussionFact {
  number: number
  author: Author
  title: string
  body: string | null
  assignees: readonly string[]
  /** Number of the milestone. */
  milestone: number | null
  /** Names of labels of the same repository. */
  labels: readonly string[]
  reactions: readonly Reaction[]
  closedAt: string | null
  createdAt: string
  updatedAt: string
}

export interface IssueComment extends DiscussionFact {
  /** Unique on its host. */
  id: number
  on: Discussed
  author: Author
  body: string | null
  reactions: readonly Reaction[]
  createdAt: string
}

export type EventName =
  | ('labeled' | 'unlabeled' | 'milestoned' | 'demilestoned' | 'renamed' | 'base_ref_changed')
  | ('assigned' | 'unassigned' | 'review_requested' | 'review_request_removed')
  | ('comment_deleted' | 'transferred' | 'referenced' | 'merged' | 'closed' | 'reopened')
  | ('head_ref_force_pushed' | 'base_ref_force_pushed' | 'head_ref_deleted' | 'head_ref_restored')
  | ('locked' | 'unlocked' | 'mentioned' | 'subscribed' | 'unsubscribed' | 'pinned')
  | ('convert_to_draft' | 'ready_for_review')

/**
 * What was done to an issue or a pull request. Which details there are follows from `event`; kinds of times to come are read
 * too. A merged pull request has both a `merged` and a `closed` event.
 */
export interface IssueEvent extends DiscussionFact {
  /** Unique on its host among events. */
  id: number
  on: Discussed
  actor: Author
  event: EventName | (string & {})
  createdAt: string
  /** labeled, unlabeled: as the label was then. It may be gone since. */
  label?: { name: string; color: string; textColor: string } | undefined
  /** milestoned, demilestoned. */
  milestoneTitle?: string | undefined
  /** renamed: titles. base_ref_changed: branches. */
  renamed?: { from: string; to: string } | undefined
  /** assigned, review_requested and their like; transferred: the repository it came from. */
  subject?: Party | null | undefined
  /** referenced, merged; of closed only where a commit did it. */
  commit?: string | null | undefined
  /** `owner/name` of where that commit is, or the pushed ones. */
  commitRepository?: string | null | undefined
  /** head_ref_force_pushed, base_ref_force_pushed. */
  forcePush?: { ref: string; before: string; after: string } | undefined
}

/** A talk that is no issue; its number is of the row that issues have too. */
export interface Discussion extends DiscussionFact {
  number: number
  author: Author
  title: string
  body: string | null
  labels: readonly string[]
  reactions: readonly Reaction[]
  /** Name of the category. */
  category: string | null
  createdAt: string
  updatedAt: string
}

export interface DiscussionCategory extends DiscussionFact {
  /** Unique in its repository. */
  name: string
  /** Such as `:speech_balloon:`. */
  emoji: string | null
  description: string | null
}
