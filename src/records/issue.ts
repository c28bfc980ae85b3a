import type { Author, EventSubject, IssueOrPull, Reaction, RepositoryFact } from './fact.ts'

/** Open while `closedAt` is null. Locked if the last of its `locked` and `unlocked` events is `locked`. */
export interface Issue extends RepositoryFact {
  number: number
  author: Author
  title: string
  body: string | null
  assignees: readonly string[]
  milestone: number | null
  /** Names of labels of the same repository. */
  labels: readonly string[]
  reactions: readonly Reaction[]
  closedAt: string | null
  createdAt: string
  updatedAt: string
  /** The deadline. Only Gitea and Forgejo have this field and the next two; for other hosts they are undefined. */
  dueOn?: string | undefined
  /** What must be closed first, in this or another repository. */
  dependsOn?: readonly (RepositoryFact & IssueOrPull)[] | undefined
  /** The position among the pinned ones, from 1. */
  pinOrder?: number | undefined
}

export interface IssueComment extends RepositoryFact {
  /** Unique on its host. */
  id: number
  on: IssueOrPull
  author: Author
  body: string | null
  reactions: readonly Reaction[]
  createdAt: string
}

/** A change of an issue or a pull request. A merged pull request has both a `merged` and a `closed` event. */
export interface IssueEvent extends RepositoryFact {
  /** Unique on its host among events. */
  id: number
  on: IssueOrPull
  actor: Author
  /** GitHub's name of the event, such as `labeled`. It determines which optional fields are set. */
  event: string
  createdAt: string
  /** labeled, unlabeled: the label as it was then. It may have been deleted since. */
  label?: { name: string; color: string; textColor: string } | undefined
  /** milestoned, demilestoned. */
  milestoneTitle?: string | undefined
  /** renamed: titles. base_ref_changed: branches. */
  renamed?: { from: string; to: string } | undefined
  /** assigned, review_requested and similar events: the person or team. transferred: the former repository. */
  subject?: EventSubject | null | undefined
  /** referenced, merged, and closed if a commit did it. */
  commit?: string | null | undefined
  /** `owner/name` of the repository with that commit or the pushed commits. */
  commitRepository?: string | null | undefined
  /** head_ref_force_pushed, base_ref_force_pushed. */
  forcePush?: { ref: string; before: string; after: string } | undefined
}
