import { list, type Shape } from '../lib/json-shape.ts'
import type { EventSubject, IssueOrPull, Reaction } from './fact.ts'
import {
  anyString,
  type FieldReader,
  ifPresent,
  listOrEmpty,
  objectOf,
  optional,
  stringOrNull,
  withDefault,
} from './field-reader.ts'
import type { Issue, IssueComment, IssueEvent } from './issue.ts'
import * as url from './parse-urls.ts'
import type { Links } from './record-urls.ts'

export function readIssue(field: FieldReader): Issue {
  const common = readCommonFields(field)
  return { ...common, updatedAt: field('updated_at', withDefault(anyString, common.createdAt)) }
}

/** Reads the fields that issues and pull requests have in common. Old archives have one assignee. */
export function readCommonFields(field: FieldReader): Omit<Issue, 'updatedAt'> {
  const assignee = field('assignee', url.loginOrNull)
  return {
    repository: field('repository', url.repositoryName),
    number: field('url', url.issueOrPull).number,
    author: field('user', url.loginOrNull),
    title: field('title', anyString),
    body: field('body', stringOrNull),
    assignees: field(
      'assignees',
      withDefault(list(url.login), assignee === null ? [] : [assignee]),
    ),
    milestone: field('milestone', url.linkOrNull(url.milestoneNumber)),
    labels: field('labels', listOrEmpty(url.labelName)),
    reactions: field('reactions', reactions),
    closedAt: field('closed_at', stringOrNull),
    createdAt: field('created_at', anyString),
  }
}

export function writeIssue(issue: Issue, links: Links) {
  return {
    type: 'issue',
    url: links.issueOrPull(issue.repository, { kind: 'issue', number: issue.number }),
    repository: links.repository(issue.repository),
    user: links.person(issue.author),
    title: issue.title,
    body: issue.body,
    ...writeTriage(issue, links),
    reactions: writeReactions(issue.reactions, 'Issue', links),
    closed_at: issue.closedAt,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
  }
}

/** Writes the fields that issues and pull requests are filtered by. */
export function writeTriage(
  {
    repository,
    assignees,
    milestone,
    labels,
  }: Pick<Issue, 'repository' | 'assignees' | 'milestone' | 'labels'>,
  links: Links,
) {
  return {
    assignee: links.person(assignees[0] ?? null),
    assignees: assignees.map(links.person),
    milestone: links.milestone(repository, milestone),
    labels: labels.map((name) => links.label(repository, name)),
  }
}

/** Reads the issue or pull request that a comment or an event belongs to. */
export function readIssueOrPull(field: FieldReader): { repository: string; on: IssueOrPull } {
  const pull = field('pull_request', url.linkOrNull(url.issueOrPull))
  const { repository, number } = pull ?? field('issue', url.issueOrPull)
  return { repository, on: { kind: pull ? 'pull_request' : 'issue', number } }
}

export function readIssueComment(field: FieldReader): IssueComment {
  return {
    ...readIssueOrPull(field),
    id: field('url', url.id),
    author: field('user', url.loginOrNull),
    body: field('body', stringOrNull),
    reactions: field('reactions', reactions),
    createdAt: field('created_at', anyString),
  }
}

export function writeIssueComment(comment: IssueComment, links: Links) {
  const { repository, on } = comment
  return {
    type: 'issue_comment',
    url: links.issueComment(repository, on, comment.id),
    [on.kind]: links.issueOrPull(repository, on),
    user: links.person(comment.author),
    body: comment.body,
    formatter: 'markdown',
    reactions: writeReactions(comment.reactions, 'IssueComment', links),
    created_at: comment.createdAt,
  }
}

export function readIssueEvent(field: FieldReader): IssueEvent {
  const event = field('event', anyString)
  const label = field('label_name', optional(anyString))
  const renamed = field('title_is', optional(anyString))
  const after = field('after_commit_oid', optional(anyString))
  return {
    ...readIssueOrPull(field),
    id: field('url', url.id),
    actor: field('actor', url.loginOrNull),
    event,
    createdAt: field('created_at', anyString),
    label:
      label === undefined
        ? undefined
        : {
            name: label,
            color: field('label_color', anyString),
            textColor: field('label_text_color', withDefault(anyString, '')),
          },
    milestoneTitle: field('milestone_title', optional(anyString)),
    renamed:
      renamed === undefined ? undefined : { from: field('title_was', anyString), to: renamed },
    subject: field(
      'subject',
      ifPresent(url.linkOrNull(event === 'transferred' ? repositorySubject : url.reviewer)),
    ),
    commit: field('commit_id', ifPresent(stringOrNull)),
    commitRepository: field('commit_repository', ifPresent(url.linkOrNull(url.repositoryName))),
    forcePush:
      after === undefined
        ? undefined
        : { ref: field('ref', anyString), before: field('before_commit_oid', anyString), after },
  }
}

const repositorySubject: Shape<EventSubject> = (value, at) => ({
  kind: 'repository',
  repository: url.repositoryName(value, at),
})

export function writeIssueEvent(event: IssueEvent, links: Links) {
  const { repository, on, label, renamed, forcePush, subject, commitRepository } = event
  return {
    type: 'issue_event',
    url: links.issueEvent(repository, on, event.id),
    [on.kind]: links.issueOrPull(repository, on),
    actor: links.person(event.actor),
    event: event.event,
    ...(label && {
      label: links.label(repository, label.name),
      label_name: label.name,
      label_color: label.color,
      label_text_color: label.textColor,
    }),
    milestone_title: event.milestoneTitle,
    ...(renamed && { title_was: renamed.from, title_is: renamed.to }),
    subject: subject && linkToSubject(subject, links),
    ref: forcePush?.ref,
    before_commit_oid: forcePush?.before,
    after_commit_oid: forcePush?.after,
    commit_id: event.commit,
    commit_repository:
      commitRepository === undefined ? undefined : links.repository(commitRepository),
    created_at: event.createdAt,
  }
}

export function linkToSubject(subject: EventSubject, links: Links): string | null {
  if (subject.kind === 'user') return links.person(subject.login)
  return subject.kind === 'team' ? links.team(subject) : links.repository(subject.repository)
}

/** Archives use the names of emoji for these reactions, the REST API its own names. */
const EMOJI_BY_REACTION = new Map([
  ['laugh', 'smile'],
  ['confused', 'thinking_face'],
  ['hooray', 'tada'],
])
const REACTION_BY_EMOJI = new Map([...EMOJI_BY_REACTION].map(([name, emoji]) => [emoji, name]))

export const reactions = listOrEmpty(
  objectOf((field): Reaction => {
    const content = field('content', anyString)
    return {
      author: field('user', url.loginOrNull),
      content: REACTION_BY_EMOJI.get(content) ?? content,
      createdAt: field('created_at', anyString),
    }
  }),
)

/** Reactions to pull requests have the subject type of issues. */
type SubjectType =
  | ('Issue' | 'IssueComment' | 'PullRequestReview' | 'PullRequestReviewComment')
  | ('CommitComment' | 'Release')

/** Returns the reactions sorted by the name of the emoji, as GitHub does, otherwise in the given order. */
export function writeReactions(
  reactions: readonly Reaction[],
  subjectType: SubjectType,
  links: Links,
): unknown[] {
  const written = reactions.map(({ author, content, createdAt }) => ({
    user: links.person(author),
    content: EMOJI_BY_REACTION.get(content) ?? content,
    subject_type: subjectType,
    created_at: withMilliseconds(createdAt),
  }))
  return written.sort((a, b) => (a.content < b.content ? -1 : Number(a.content > b.content)))
}

/** Converts `2024-05-02T09:00:00Z` to `2024-05-02T09:00:00.000+00:00`. Only reactions have times in this form. */
function withMilliseconds(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) ? `${time.slice(0, -1)}.000+00:00` : time
}
