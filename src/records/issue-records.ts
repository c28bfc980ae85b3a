import { list, type Shape } from '../lib/json-shape.ts'
import type { EventSubject, IssueOrPull, Reaction } from './fact.ts'
import type { Issue, IssueComment, IssueEvent } from './issue.ts'
import {
  id,
  issueOrPull,
  labelName,
  linkOrNull,
  login,
  milestoneNumber,
  person,
  repositoryName,
  reviewer,
} from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import {
  anyString,
  type FieldReader,
  ifPresent,
  objectOf,
  optional,
  orElse,
  textOrNull,
} from './record-shapes.ts'

export function readIssue(field: FieldReader): Issue {
  const createdAt = field('created_at', anyString)
  return {
    repository: field('repository', repositoryName),
    number: field('url', issueOrPull).number,
    author: field('user', person),
    title: field('title', anyString),
    body: field('body', textOrNull),
    ...readTriage(field),
    reactions: field('reactions', reactions),
    closedAt: field('closed_at', textOrNull),
    createdAt,
    updatedAt: field('updated_at', orElse(anyString, createdAt)),
  }
}

export function writeIssue(issue: Issue, links: Links) {
  return {
    type: 'issue',
    url: links.discussed(issue.repository, { kind: 'issue', number: issue.number }),
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

type Triage = Pick<Issue, 'assignees' | 'milestone' | 'labels'>

/** The fields that issues and pull requests are filtered by. Old archives have one assignee. */
export function readTriage(field: FieldReader): Triage {
  const assignee = field('assignee', person)
  return {
    assignees: field('assignees', orElse(list(login), assignee === null ? [] : [assignee])),
    milestone: field('milestone', linkOrNull(milestoneNumber)),
    labels: field('labels', orElse(list(labelName), [])),
  }
}

export function writeTriage(
  { repository, assignees, milestone, labels }: Triage & { repository: string },
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
  const pull = field('pull_request', linkOrNull(issueOrPull))
  const { repository, number } = pull ?? field('issue', issueOrPull)
  return { repository, on: { kind: pull ? 'pull_request' : 'issue', number } }
}

function writeDiscussed(repository: string, on: IssueOrPull, links: Links) {
  return { [on.kind]: links.discussed(repository, on) }
}

export function readIssueComment(field: FieldReader): IssueComment {
  return {
    ...readIssueOrPull(field),
    id: field('url', id),
    author: field('user', person),
    body: field('body', textOrNull),
    reactions: field('reactions', reactions),
    createdAt: field('created_at', anyString),
  }
}

export function writeIssueComment(comment: IssueComment, links: Links) {
  const { repository, on } = comment
  return {
    type: 'issue_comment',
    url: links.inDiscussion(repository, on, `issuecomment-${comment.id}`),
    ...writeDiscussed(repository, on, links),
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
    id: field('url', id),
    actor: field('actor', person),
    event,
    createdAt: field('created_at', anyString),
    label:
      label === undefined
        ? undefined
        : {
            name: label,
            color: field('label_color', anyString),
            textColor: field('label_text_color', orElse(anyString, '')),
          },
    milestoneTitle: field('milestone_title', optional(anyString)),
    renamed:
      renamed === undefined ? undefined : { from: field('title_was', anyString), to: renamed },
    subject: field(
      'subject',
      ifPresent(linkOrNull(event === 'transferred' ? repositoryParty : reviewer)),
    ),
    commit: field('commit_id', ifPresent(textOrNull)),
    commitRepository: field('commit_repository', ifPresent(linkOrNull(repositoryName))),
    forcePush:
      after === undefined
        ? undefined
        : { ref: field('ref', anyString), before: field('before_commit_oid', anyString), after },
  }
}

const repositoryParty: Shape<EventSubject> = (value, at) => {
  return { kind: 'repository', repository: repositoryName(value, at) }
}

export function writeIssueEvent(event: IssueEvent, links: Links) {
  const { repository, on, label, renamed, forcePush, subject, commitRepository } = event
  return {
    type: 'issue_event',
    url: links.inDiscussion(repository, on, `event-${event.id}`),
    ...writeDiscussed(repository, on, links),
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
    subject: subject && writeParty(subject, links),
    ref: forcePush?.ref,
    before_commit_oid: forcePush?.before,
    after_commit_oid: forcePush?.after,
    commit_id: event.commit,
    commit_repository:
      commitRepository === undefined ? undefined : links.repository(commitRepository),
    created_at: event.createdAt,
  }
}

export function writeParty(named: EventSubject, links: Links): string | null {
  if (named.kind === 'user') return links.person(named.login)
  return named.kind === 'team' ? links.team(named) : links.repository(named.repository)
}

/** Archives use the name of the emoji, the REST API other names. */
const EMOJI_BY_REACTION = new Map([
  ['laugh', 'smile'],
  ['confused', 'thinking_face'],
  ['hooray', 'tada'],
])
const REACTION_BY_EMOJI = new Map([...EMOJI_BY_REACTION].map(([name, emoji]) => [emoji, name]))

export const reactions: Shape<Reaction[]> = orElse(
  list(
    objectOf((field): Reaction => {
      const content = field('content', anyString)
      return {
        author: field('user', person),
        content: REACTION_BY_EMOJI.get(content) ?? content,
        createdAt: field('created_at', anyString),
      }
    }),
  ),
  [],
)

/** Reactions to pull requests have the subject type of issues. */
type SubjectType =
  | ('Issue' | 'IssueComment' | 'PullRequestReview' | 'PullRequestReviewComment')
  | ('CommitComment' | 'Discussion' | 'Release')

/** Sorted by the name of the emoji, as GitHub does, otherwise in the given order. */
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

/** Only reactions have times in this form: `2024-05-02T09:00:00.000+00:00` for `2024-05-02T09:00:00Z`. */
function withMilliseconds(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) ? `${time.slice(0, -1)}.000+00:00` : time
}
