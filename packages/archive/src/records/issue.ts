import { count, type Shape } from '@godwit/lib/json-shape'
import type { EventSubject, IssueOrPull, RecordOfRepository } from './record.ts'
import * as field from './record-fields.ts'
import type { RecordUrls } from './record-urls.ts'
import * as link from './record-urls.ts'

/** Archives use the names of emoji for these reactions, the REST API its own names. */
const EMOJI_BY_REACTION = new Map([
  ['laugh', 'smile'],
  ['confused', 'thinking_face'],
  ['hooray', 'tada'],
])
const REACTION_BY_EMOJI = new Map([...EMOJI_BY_REACTION].map(([name, emoji]) => [emoji, name]))

export type Reaction = ReturnType<ReturnType<typeof reactionsTo>>[number]

/** The reactions to one kind of record. They are written sorted by the name of the emoji, as GitHub does. */
export function reactionsTo(subjectType: string) {
  const reaction = field.recordFormat({
    user: field.author,
    /** A name of the REST APIs of GitHub and Gitea: +1, -1, laugh, hooray, confused, heart, rocket, eyes. Other names are not changed. */
    content: field.codec(
      (value, at) => {
        const content = field.string(value, at)
        return REACTION_BY_EMOJI.get(content) ?? content
      },
      (content) => EMOJI_BY_REACTION.get(content) ?? content,
    ),
    subject_type: field.constant(subjectType),
    created_at: field.codec(field.timeOrUnknown, withMilliseconds),
  })
  const all = field.listOrEmpty(reaction)
  return field.codec(all, (reactions, urls) =>
    reactions
      .map((each) => reaction.write(each, urls) as { content: string })
      .sort((a, b) => (a.content < b.content ? -1 : Number(a.content > b.content))),
  )
}

/** Converts `2024-05-02T09:00:00Z` to `2024-05-02T09:00:00.000+00:00`. Only reactions have times in this form. */
function withMilliseconds(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) ? `${time.slice(0, -1)}.000+00:00` : time
}

/** The number of an issue or a pull request, from its URL. */
export const numberOf = (kind: IssueOrPull['kind']) =>
  field.named(
    'number',
    (value, at) => link.issueOrPull(value, at).number,
    (number, urls, { repository }: RecordOfRepository) =>
      urls.issueOrPull(repository, { kind, number }),
  )

type Assigned = { assignees: readonly string[] }

/** Old archives have only `assignee`. */
const assigned: field.Part<Assigned> = {
  read(read, key) {
    const one = read('assignee', link.loginOrNull)
    const all = field.withDefault(field.list(link.login), one === null ? [] : [one])
    return { assignees: read(key, all) }
  },
  write: ({ assignees }: Assigned, urls, key) => ({ [key]: assignees.map(urls.person) }),
}

/** Fields for planning work, which issues and pull requests have in common. */
export const triage = {
  assignee: field.written(({ assignees }: Assigned, urls) => urls.person(assignees[0] ?? null)),
  assignees: assigned,
  milestone: field.codec(
    link.orNull(link.milestoneNumber),
    (number, urls, { repository }: RecordOfRepository) => urls.milestone(repository, number),
  ),
  /** Names of labels of the same repository. */
  labels: field.listOrEmpty(
    field.codec(link.labelName, (name, urls, { repository }: RecordOfRepository) =>
      urls.label(repository, name),
    ),
  ),
  /** The deadline. Only Gitea and Forgejo have this field and the next two; for other hosts they are undefined. */
  due_on: field.optional(field.time),
  /** What must be closed first, in this or another repository. */
  depends_on: field.optional(
    field.list(
      field.codec(link.issueOrPull, (each, urls) => urls.issueOrPull(each.repository, each)),
    ),
  ),
  /** The position among the pinned ones, from 1. */
  pin_order: field.optional(count()),
}

/** Open while `closedAt` is null. Locked if the last of its `locked` and `unlocked` events is `locked`. */
export type Issue = ReturnType<typeof issueRecord>
export const issueRecord = field.recordFormat({
  type: field.constant('issue'),
  url: numberOf('issue'),
  repository: field.repository,
  user: field.author,
  title: field.string,
  body: field.stringOrNull,
  ...triage,
  reactions: reactionsTo('Issue'),
  closed_at: field.timeOrNull,
  created_at: field.time,
  updated_at: field.updatedAt,
})

/** What belongs to an issue or a pull request. */
type OnIssueOrPull = RecordOfRepository & { on: IssueOrPull }

/** Reads the issue or pull request that a comment, an event or an attachment belongs to. */
export function readIssueOrPull(read: field.FieldReader): OnIssueOrPull {
  const pull = read('pull_request', link.orNull(link.issueOrPull))
  const { repository, number } = pull ?? read('issue', link.issueOrPull)
  return { repository, on: { kind: pull ? 'pull_request' : 'issue', number } }
}

/** The field `issue` or `pull_request`. */
const issueOrPull: field.Part<OnIssueOrPull> = {
  read: readIssueOrPull,
  write: ({ repository, on }: OnIssueOrPull, urls) => ({
    [on.kind]: urls.issueOrPull(repository, on),
  }),
}

export type IssueComment = ReturnType<typeof issueCommentRecord>
export const issueCommentRecord = field.recordFormat({
  type: field.constant('issue_comment'),
  /** Unique on its host. */
  url: field.named('id', link.id, (id, urls, { repository, on }: OnIssueOrPull) =>
    urls.issueComment(repository, on, id),
  ),
  issue: issueOrPull,
  user: field.author,
  body: field.stringOrNull,
  formatter: field.constant('markdown'),
  reactions: reactionsTo('IssueComment'),
  created_at: field.time,
})

const repositorySubject: Shape<EventSubject> = (value, at) => ({
  kind: 'repository',
  repository: link.repositoryName(value, at),
})

/** assigned, review_requested and similar events: the person or team. transferred: the former repository. */
type Subject = { subject: EventSubject | null | undefined }

const subjectOfEvent: field.Part<Subject> = {
  read(read, key) {
    const isTransfer = read('event', field.string) === 'transferred'
    const subject = link.orNull(isTransfer ? repositorySubject : link.reviewer)
    return { subject: read(key, field.ifPresent(subject)) }
  },
  write: ({ subject }: Subject, urls, key) => ({ [key]: subject && subjectUrl(subject, urls) }),
}

export function subjectUrl(subject: EventSubject, urls: RecordUrls): string | null {
  if (subject.kind === 'user') return urls.person(subject.login)
  return subject.kind === 'team' ? urls.team(subject) : urls.repository(subject.repository)
}

/** A change of an issue or a pull request. A merged pull request has both a `merged` and a `closed` event. */
export type IssueEvent = ReturnType<typeof issueEventRecord>
export const issueEventRecord = field.recordFormat({
  type: field.constant('issue_event'),
  /** Unique on its host among events. */
  url: field.named('id', link.id, (id, urls, { repository, on }: OnIssueOrPull) =>
    urls.issueEvent(repository, on, id),
  ),
  issue: issueOrPull,
  actor: field.personOrNull,
  /** GitHub's name of the event, such as `labeled`. It determines which optional fields are set. */
  event: field.string,
  /** labeled, unlabeled: the label as it was then. It may have been deleted since. */
  label_name: field.together('label', {
    label: field.written(({ name }: { name: string }, urls, { repository }: RecordOfRepository) =>
      urls.label(repository, name),
    ),
    label_name: field.named('name', field.string),
    label_color: field.named('color', field.string),
    label_text_color: field.named('textColor', field.withDefault(field.string, '')),
  }),
  /** milestoned, demilestoned. */
  milestone_title: field.optional(field.string),
  /** renamed: titles. base_ref_changed: branches. */
  title_is: field.together('renamed', {
    title_was: field.named('from', field.string),
    title_is: field.named('to', field.string),
  }),
  subject: subjectOfEvent,
  /** head_ref_force_pushed, base_ref_force_pushed. */
  after_commit_oid: field.together('forcePush', {
    ref: field.string,
    before_commit_oid: field.named('before', field.shaOrEmpty),
    after_commit_oid: field.named('after', field.shaOrEmpty),
  }),
  /** referenced, merged, and closed if a commit did it. */
  commit_id: field.named('commit', field.ifPresent(field.shaOrNull)),
  /** The repository with that commit or the pushed commits. */
  commit_repository: field.ifPresent(field.orNull(field.repository)),
  created_at: field.time,
})
