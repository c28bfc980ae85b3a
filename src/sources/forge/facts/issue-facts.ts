import type { Discussed, Reaction } from '../../../records/fact.ts'
import type { Issue, IssueComment } from '../../../records/issue.ts'
import type { Entry } from '../client/forge-pages.ts'
import {
  authorIn,
  entryIn,
  entryListIn,
  loginOf,
  numberIn,
  textIn,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'

export const isPull = (issue: Entry): boolean => entryIn(issue, 'pull_request') !== undefined

export const discussedBy = (issue: Entry): Discussed => ({
  kind: isPull(issue) ? 'pull_request' : 'issue',
  number: numberIn(issue, 'number'),
})

/** What an issue and a pull request have in common. */
export const commonFacts = (issue: Entry, reactions: readonly Reaction[]) => ({
  number: numberIn(issue, 'number'),
  author: authorIn(issue, 'user'),
  title: textIn(issue, 'title'),
  body: textIn(issue, 'body'),
  assignees: assigneesOf(issue),
  milestone: milestoneOf(issue),
  labels: [...new Set(entryListIn(issue, 'labels').map((label) => textIn(label, 'name')))],
  reactions,
  closedAt: closedAt(issue),
  createdAt: timeIn(issue, 'created_at'),
})

export const issueFact = (
  repository: string,
  issue: Entry,
  reactions: readonly Reaction[],
): Issue => ({
  repository,
  ...commonFacts(issue, reactions),
  updatedAt: timeIn(issue, 'updated_at'),
})

/** Old versions say one assignee, newer ones all of them. */
function assigneesOf(issue: Entry): string[] {
  const all = entryListIn(issue, 'assignees').map(loginOf)
  const one = entryIn(issue, 'assignee')
  return [...new Set(all.length === 0 && one ? [loginOf(one)] : all)]
}

const milestoneOf = (issue: Entry): number | null => {
  const milestone = entryIn(issue, 'milestone')
  return milestone ? numberIn(milestone, 'id') || null : null
}

/** The state decides: a reopened issue may keep the time of its last end. */
export function closedAt(issue: Entry): string | null {
  if (textIn(issue, 'state') !== 'closed') return null
  return timeOrNull(issue, 'closed_at') ?? timeIn(issue, 'updated_at')
}

export const commentFact = (
  repository: string,
  on: Discussed,
  comment: Entry,
  reactions: readonly Reaction[],
): IssueComment => ({
  repository,
  id: numberIn(comment, 'id'),
  on,
  author: authorIn(comment, 'user'),
  body: textIn(comment, 'body'),
  reactions,
  createdAt: timeIn(comment, 'created_at'),
})

export const reactionFacts = (reactions: readonly Entry[]): Reaction[] =>
  reactions.map((reaction) => ({
    author: authorIn(reaction, 'user'),
    content: textIn(reaction, 'content'),
    createdAt: timeIn(reaction, 'created_at'),
  }))

export const reactionKey = (reaction: Entry): string =>
  `${authorIn(reaction, 'user')} ${textIn(reaction, 'content')} ${textIn(reaction, 'created_at')}`
