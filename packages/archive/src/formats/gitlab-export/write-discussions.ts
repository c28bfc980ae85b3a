import type { Issue, IssueEvent, Reaction } from '../../records/issue.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import type { Author } from '../../records/record.ts'
import type { ProtectedBranch } from '../../records/repository.ts'
import { ACCESS_LEVELS, FEATURE, VISIBILITY } from './constants.ts'
import {
  awardEmoji,
  gitlabTime,
  gitlabTimeOrNull,
  type Project,
  timestamps,
} from './write-project.ts'

type Issuable = 'Issue' | 'MergeRequest'

interface NoteText {
  /** The name of the thread, such as `review 12`. Notes with the same name are in one thread. */
  thread: string
  author: Author
  body: string
  createdAt: string
  reactions?: readonly Reaction[]
}

export type Note = ReturnType<typeof noteRecord>

export function noteRecord(project: Project, noteable: Issuable | 'Commit', note: NoteText) {
  const { author, body, createdAt, reactions = [], thread } = note
  return {
    // GitLab refuses an empty note. Its importer writes this instead.
    note: body.trim() === '' ? '*Blank note*' : project.warnIfLong(thread, body),
    noteable_type: noteable,
    type: null as 'DiscussionNote' | 'DiffNote' | null,
    system: false,
    author_id: project.userId(author),
    // The importer names the author in the text unless it finds the account.
    author: { name: project.loginOf(author) },
    discussion_id: project.discussionId(thread),
    ...timestamps(createdAt),
    award_emoji: awardEmoji(project, 'Note', reactions),
  }
}

/** Returns a note that describes an event. `action` must be one that all servers since 13.5 know. */
export function systemNote(
  project: Project,
  noteable: Issuable,
  { action, ...note }: NoteText & { action: string | undefined },
): Note {
  const record = { ...noteRecord(project, noteable, note), system: true }
  const { created_at, updated_at } = record
  return action
    ? Object.assign(record, { system_note_metadata: { action, created_at, updated_at } })
    : record
}

export function issueRecord(project: Project, issue: Issue) {
  const { number, closedAt } = issue
  const closed = project.of('issue_events', number).findLast(({ event }) => event === 'closed')
  const { notes, ...common } = issuable(project, 'Issue', issue)
  return {
    ...common,
    state: closedAt === null ? 'opened' : 'closed',
    closed_at: gitlabTimeOrNull(closedAt),
    closed_by_id: closedAt !== null && closed ? project.userId(closed.actor) : null,
    confidential: false,
    issue_type: 'issue',
    updated_at: gitlabTime(issue.updatedAt),
    issue_assignees: userIds(project, issue.assignees),
    notes: byTime(notes),
  }
}

/** Returns the attributes and relations that issues and merge requests have in common. */
export function issuable(project: Project, noteable: Issuable, item: Issue | PullRequest) {
  const { number, milestone, createdAt } = item
  const events = project.of('issue_events', number)
  project.report.addLoss('deadlines', item.dueOn ? 1 : 0)
  project.report.addLoss('dependencies', item.dependsOn?.length ?? 0)
  project.report.addLoss('pins', item.pinOrder ? 1 : 0)
  const found = milestone === null ? null : project.milestones.get(milestone)
  if (found === undefined)
    project.loseRecord('milestones', `milestone ${milestone} of #${number} is not in the input`)
  const { notes, ...resourceEvents } = convertEvents(project, noteable, item, events)
  return {
    iid: number,
    title: project.title(number, item.title),
    description: project.warnIfLong(`#${number}`, descriptionOf(project, item)),
    author_id: project.userId(item.author),
    discussion_locked: project.isLocked(number),
    created_at: gitlabTime(createdAt),
    label_links: [...new Set(item.labels)].map((name) => ({
      target_type: noteable,
      label: project.label(name),
      ...timestamps(createdAt),
    })),
    milestone: found ?? null,
    award_emoji: awardEmoji(project, noteable, item.reactions),
    ...resourceEvents,
    notes: [
      ...notes,
      ...project.of('issue_comments', number).map(({ id, body, ...comment }) => {
        const note = { ...comment, thread: `comment ${id}`, body: project.text(body) }
        return noteRecord(project, noteable, note)
      }),
    ],
  }
}

/** Returns the body, and the author if there is no account for it: an importer adds the author only to notes. */
function descriptionOf(project: Project, { author, body, createdAt }: Issue | PullRequest): string {
  const text = project.text(body)
  if (project.hasEmail(author)) return text
  const by = `*By ${project.loginOf(author)} on ${gitlabTime(createdAt).slice(0, 19)}*`
  return text === '' ? by : `${text}\n\n${by}`
}

export const userIds = (project: Project, logins: readonly string[]) =>
  [...new Set(logins.map((login) => project.userId(login)))].map((id) => ({ user_id: id }))

export const byTime = <T extends { created_at: string }>(notes: T[]): T[] =>
  notes.sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))

/** Events that GitHub does not show either. */
const UNSEEN_EVENTS = ['mentioned', 'subscribed', 'unsubscribed']

/** Converts events to GitLab's records of them, or to notes if it has none for this kind of event. */
function convertEvents(
  project: Project,
  noteable: Issuable,
  item: Issue | PullRequest,
  events: readonly IssueEvent[],
) {
  const [states, labels, milestones]: [object[], object[], object[]] = [[], [], []]
  const notes: Note[] = []
  const mergedAt = ('mergedAt' in item && item.mergedAt) || undefined
  for (const each of events) {
    const { id, event, actor, createdAt, label, milestoneTitle = '' } = each
    const common = { user_id: project.userId(actor), created_at: gitlabTime(createdAt) }
    const action = /^(?:un|de)/.test(event) ? 'remove' : 'add'
    const milestone = project.milestonesByTitle.get(milestoneTitle)
    if (/^(?:closed|reopened|merged)$/.test(event)) {
      // GitHub closes a pull request when it merges it. In GitLab it is merged only.
      const isPartOfMerge =
        event === 'closed' && mergedAt && Date.parse(createdAt) >= Date.parse(mergedAt)
      const commit = event === 'closed' ? (each.commit ?? null) : null
      if (!isPartOfMerge) states.push({ ...common, state: event, source_commit: commit })
    } else if (label && project.labels.has(label.name))
      labels.push({ ...common, action, label: project.label(label.name) })
    else if (milestone)
      milestones.push({ ...common, action, state: item.closedAt ? 'closed' : 'opened', milestone })
    else if (UNSEEN_EVENTS.includes(event)) project.report.addLoss(`${event}_events`)
    else {
      const description = describeEvent(project, noteable, each)
      const note = { thread: `event ${id}`, author: actor, createdAt, ...description }
      notes.push(systemNote(project, noteable, note))
    }
  }
  return {
    resource_state_events: states,
    resource_label_events: labels,
    resource_milestone_events: milestones,
    notes,
  }
}

/** GitLab's own text for an event, and the action of its system note. */
const EVENT_NOTES = new Map<string, [text: string, action?: string]>(
  Object.entries({
    assigned: ['assigned to <who>', 'assignee'],
    unassigned: ['unassigned <who>', 'assignee'],
    labeled: ['added label <label>', 'label'],
    unlabeled: ['removed label <label>', 'label'],
    milestoned: ['changed milestone to <milestone>', 'milestone'],
    demilestoned: ['removed milestone <milestone>', 'milestone'],
    renamed: ['changed title from **{-<from>-}** to **{+<to>+}**', 'title'],
    locked: ['locked the discussion in this <what>', 'locked'],
    unlocked: ['unlocked the discussion in this <what>', 'unlocked'],
    review_requested: ['requested review from <who>'],
    review_request_removed: ['removed review request for <who>'],
    base_ref_changed: ['changed target branch from `<from>` to `<to>`', 'branch'],
    head_ref_deleted: ['deleted source branch', 'branch'],
    head_ref_restored: ['restored source branch', 'branch'],
    head_ref_force_pushed: ['force-pushed from <before> to <after>', 'commit'],
    convert_to_draft: ['marked this <what> as **draft**', 'title'],
    ready_for_review: ['marked this <what> as **ready**', 'title'],
    referenced: ['mentioned in commit <commit>', 'cross_reference'],
    transferred: ['moved from <who>', 'moved'],
  }),
)

function describeEvent(
  project: Project,
  noteable: Issuable,
  { event, subject, renamed, label, milestoneTitle, commit, forcePush }: IssueEvent,
): { body: string; action: string | undefined } {
  const [text, action] = EVENT_NOTES.get(event) ?? [`${event.replaceAll('_', ' ')} <who>`]
  const values: Record<string, string | null | undefined> = {
    ...renamed,
    ...forcePush,
    commit,
    label: label?.name,
    milestone: milestoneTitle,
    what: noteable === 'Issue' ? 'issue' : 'merge request',
    who:
      subject?.kind === 'user'
        ? `@${project.loginOf(subject.login)}`
        : subject?.kind === 'team'
          ? `@${subject.organization}/${subject.slug}`
          : subject?.repository,
  }
  return { body: text.replace(/<(\w+)>/g, (_, key: string) => values[key] ?? '').trim(), action }
}

const { none, guest, developer, maintainer } = ACCESS_LEVELS

/** Returns `tree/project.json`. GitLab has no attributes for the topics, the website and exclusive labels. */
export function projectRecord({ repository, report, fullName }: Project) {
  const { name, description, defaultBranch, archived = false, topics = [], website } = repository
  const exclusive = repository.labels.filter((label) => label.exclusive).map((label) => label.name)
  report.addLoss('exclusive_labels', exclusive.length, `${fullName}: ${exclusive.join(', ')}`)
  report.addLoss(
    'topics',
    topics.length,
    `${fullName}: ${topics.map((each) => each.name).join(', ')}`,
  )
  report.addLoss('websites', website ? 1 : 0, `${fullName}: ${website}`)
  return {
    name,
    description: description ?? '',
    default_branch: defaultBranch,
    visibility_level: repository.private ? VISIBILITY.private : VISIBILITY.public,
    archived,
  }
}

export function featureRecord({ repository: { hasIssues, hasWiki } }: Project) {
  return {
    issues_access_level: hasIssues === false ? FEATURE.off : FEATURE.on,
    wiki_access_level: hasWiki === false ? FEATURE.off : FEATURE.on,
    merge_requests_access_level: FEATURE.on,
    repository_access_level: FEATURE.on,
  }
}

/** Reports records of issues and pull requests that are not in the input. */
export function reportOrphans(project: Project): void {
  for (const kind of ['issue_comments', 'issue_events'] as const)
    for (const { on, id } of project.all(kind))
      if (!project.kindOf(on.number))
        project.loseRecord(kind, `${kind} ${id}: #${on.number} is not in the input`)
  project.loseReviewsWithoutPull()
}

/** Yields comments on commits. Their position in the diff becomes text. Exports have no reactions to these comments. */
export function* commitNotes(project: Project) {
  for (const comment of project.all('commit_comments')) {
    const { id, commit, author, path, position, createdAt, reactions } = comment
    const where =
      path === null ? '' : `\`${path}\`${position ? `, line ${position} of its diff` : ''}:\n\n`
    project.report.addLoss('commit_comment_positions', path === null ? 0 : 1)
    project.report.addLoss('commit_comment_reactions', reactions.length)
    const body = where + project.text(comment.body)
    const text = { thread: `commit comment ${id}`, author, body, createdAt }
    const note = noteRecord(project, 'Commit', text)
    yield { ...note, award_emoji: undefined, commit_id: commit }
  }
}

export function* protectedBranches(project: Project) {
  for (const branch of project.all('protected_branches')) {
    if (branch.name.trim() === '') {
      project.loseRecord('protected_branches', 'a protected branch has no name')
      continue
    }
    if (isPartlyLost(branch))
      project.report.addLoss('branch_protection_rules', 1, `${project.fullName}: ${branch.name}`)
    // GitLab requires neither reviews nor checks here, but a branch that nobody can push to requires merge requests.
    const needsMergeRequest = branch.reviews.required || branch.statusChecks.required
    const merge = branch.authorizedActorsOnly ? maintainer : developer
    const isClosed = branch.authorizedActorsOnly && !hasNames(branch)
    const needsNone = isClosed || (needsMergeRequest && branch.adminEnforced)
    const push = needsNone ? none : needsMergeRequest ? maintainer : merge
    yield {
      name: branch.name,
      allow_force_push: branch.allowsForcePushes,
      code_owner_approval_required: branch.reviews.byCodeOwners,
      push_access_levels: [{ access_level: push }],
      merge_access_levels: [{ access_level: merge }],
    }
  }
}

/** Returns whether a rule names those who may push. */
const hasNames = ({ authorizedUsers, authorizedTeams }: ProtectedBranch): boolean =>
  authorizedUsers.length + authorizedTeams.length > 0

/** Returns whether a rule says more than who may push and merge. */
function isPartlyLost(branch: ProtectedBranch): boolean {
  const { reviews, statusChecks, requiresSignatures, requiresLinearHistory } = branch
  const isRequired = reviews.required || statusChecks.required
  const isOpen = !branch.adminEnforced || branch.allowsDeletions
  return isRequired || requiresSignatures || requiresLinearHistory || isOpen || hasNames(branch)
}

/** Yields the accounts that an importer can find. It makes all of them members, so by default they get the lowest level. */
export function* members(project: Project) {
  const { createdAt, collaborators } = project.repository
  const found = collaborators.filter(({ login }) => project.hasEmail(login))
  for (const { login } of found) project.userId(login)
  project.report.addLoss('collaborators', collaborators.length - found.length)
  for (const { id, login, email, accessLevel = guest } of project.members())
    yield {
      access_level: accessLevel,
      user_id: id,
      source_type: 'Project',
      notification_level: 3,
      ...timestamps(createdAt),
      // Servers until 13.5 read `email`.
      user: { id, username: login, public_email: email, email },
    }
}
