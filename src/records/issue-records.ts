import { count, list, type Shape } from '../lib/json-shape.ts'
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
import type { RecordUrls } from './record-urls.ts'

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
    milestone: field('milestone', url.orNull(url.milestoneNumber)),
    labels: field('labels', listOrEmpty(url.labelName)),
    reactions: field('reactions', reactions),
    closedAt: field('closed_at', stringOrNull),
    createdAt: field('created_at', anyString),
    dueOn: field('due_on', optional(anyString)),
    dependsOn: field('depends_on', optional(list(url.issueOrPull))),
    pinOrder: field('pin_order', optional(count())),
  }
}

export function issueRecord(issue: Issue, urls: RecordUrls) {
  return {
    type: 'issue',
    url: urls.issueOrPull(issue.repository, { kind: 'issue', number: issue.number }),
    repository: urls.repository(issue.repository),
    user: urls.person(issue.author),
    title: issue.title,
    body: issue.body,
    ...triageFields(issue, urls),
    reactions: reactionRecords(issue.reactions, 'Issue', urls),
    closed_at: issue.closedAt,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
  }
}

/** Returns the fields for planning work, which issues and pull requests have in common. GitHub's archives do not have the last three. */
export function triageFields(issue: Omit<Issue, 'updatedAt'>, urls: RecordUrls) {
  const { repository, assignees, milestone, labels, dueOn, dependsOn, pinOrder } = issue
  return {
    assignee: urls.person(assignees[0] ?? null),
    assignees: assignees.map(urls.person),
    milestone: urls.milestone(repository, milestone),
    labels: labels.map((name) => urls.label(repository, name)),
    due_on: dueOn,
    depends_on: dependsOn?.map((each) => urls.issueOrPull(each.repository, each)),
    pin_order: pinOrder,
  }
}

/** Reads the issue or pull request that a comment or an event belongs to. */
export function readIssueOrPull(field: FieldReader): { repository: string; on: IssueOrPull } {
  const pull = field('pull_request', url.orNull(url.issueOrPull))
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

export function issueCommentRecord(comment: IssueComment, urls: RecordUrls) {
  const { repository, on } = comment
  return {
    type: 'issue_comment',
    url: urls.issueComment(repository, on, comment.id),
    [on.kind]: urls.issueOrPull(repository, on),
    user: urls.person(comment.author),
    body: comment.body,
    formatter: 'markdown',
    reactions: reactionRecords(comment.reactions, 'IssueComment', urls),
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
      ifPresent(url.orNull(event === 'transferred' ? repositorySubject : url.reviewer)),
    ),
    commit: field('commit_id', ifPresent(stringOrNull)),
    commitRepository: field('commit_repository', ifPresent(url.orNull(url.repositoryName))),
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

export function issueEventRecord(event: IssueEvent, urls: RecordUrls) {
  const { repository, on, label, renamed, forcePush, subject, commitRepository } = event
  return {
    type: 'issue_event',
    url: urls.issueEvent(repository, on, event.id),
    [on.kind]: urls.issueOrPull(repository, on),
    actor: urls.person(event.actor),
    event: event.event,
    ...(label && {
      label: urls.label(repository, label.name),
      label_name: label.name,
      label_color: label.color,
      label_text_color: label.textColor,
    }),
    milestone_title: event.milestoneTitle,
    ...(renamed && { title_was: renamed.from, title_is: renamed.to }),
    subject: subject && subjectUrl(subject, urls),
    ref: forcePush?.ref,
    before_commit_oid: forcePush?.before,
    after_commit_oid: forcePush?.after,
    commit_id: event.commit,
    commit_repository:
      commitRepository === undefined ? undefined : urls.repository(commitRepository),
    created_at: event.createdAt,
  }
}

export function subjectUrl(subject: EventSubject, urls: RecordUrls): string | null {
  if (subject.kind === 'user') return urls.person(subject.login)
  return subject.kind === 'team' ? urls.team(subject) : urls.repository(subject.repository)
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
export function reactionRecords(
  reactions: readonly Reaction[],
  subjectType: SubjectType,
  urls: RecordUrls,
): unknown[] {
  const records = reactions.map(({ author, content, createdAt }) => ({
    user: urls.person(author),
    content: EMOJI_BY_REACTION.get(content) ?? content,
    subject_type: subjectType,
    created_at: withMilliseconds(createdAt),
  }))
  return records.sort((a, b) => (a.content < b.content ? -1 : Number(a.content > b.content)))
}

/** Converts `2024-05-02T09:00:00Z` to `2024-05-02T09:00:00.000+00:00`. Only reactions have times in this form. */
function withMilliseconds(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) ? `${time.slice(0, -1)}.000+00:00` : time
}
