import { hash } from 'node:crypto'
import { isSha } from '@godwit/git/commits-and-refs'
import { isEmail, isForeignName } from '@godwit/lib/names'
import { unknownUser } from '../../records/people.ts'
import { type IssueOrPull, MAX_ITEM_NUMBER, NO_COMMIT, UNKNOWN_TIME } from '../../records/record.ts'
import { emptyProtection, type Repository } from '../../records/repository.ts'
import type { Report } from '../format.ts'
import { ACCESS_LEVELS, FEATURE, VISIBILITY } from './constants.ts'
import { type ProjectOptions, ProjectRecords } from './project-records.ts'
import { addEvents, lastOf, stateChanges } from './read-events.ts'
import {
  child,
  integer,
  integerOrNull,
  isJson,
  type Json,
  list,
  paragraphs,
  text,
  time,
  timeOrNull,
} from './read-relations.ts'
import { positionOf, readReviews } from './read-reviews.ts'
import type { ProjectNames } from './rewrite-text.ts'

/** Settings that only GitLab has. All other relations that are not read are reported as lost. */
const SETTINGS = [
  ...['ci_cd_settings', 'auto_devops', 'container_expiration_policy'],
  ...['error_tracking_setting', 'metrics_setting', 'user_contributions'],
]
/** Lists and objects in issues and merge requests that are read, or only have settings. All others are reported as lost. */
const READ_PARTS = new Set([
  ...['notes', 'events', 'timelogs', 'label_links', 'issue_assignees', 'award_emoji', 'approvals'],
  ...['resource_label_events', 'resource_milestone_events', 'resource_state_events'],
  ...['merge_request_assignees', 'merge_request_reviewers', 'merge_request_diff', 'merge_params'],
  ...['milestone', 'metrics', 'author', 'work_item_type'],
])

/** Reads all relations of a project as records into `rows`. Texts are not rewritten yet. An invalid one is reported as a loss. */
export async function sortProject(options: ProjectOptions) {
  const project = new ProjectReader(options)
  const { relations, report, signal } = options
  let features: Json = {}
  const sorted = (record: Json, at: string) => inTimeOrder(record, at, report)
  const readers: Record<string, (record: Json, at: string) => unknown> = {
    project_members: (each) => project.addMember(each),
    labels: (each) => project.addLabel(each),
    milestones: (each) => project.addMilestone(each),
    issues: (each, at) => project.addIssue(sorted(each, at)),
    merge_requests: (each, at) => project.addMergeRequest(sorted(each, at)),
    commit_notes: (each) => project.addCommitNote(each),
    releases: (each) => project.addRelease(each),
    protected_branches: (each) => project.addProtectedBranch(each),
    project_feature: (each) => {
      features = each
    },
  }
  for (const [relation, add] of Object.entries(readers)) {
    if (relation === 'merge_requests') await project.chooseNumbers()
    for await (const { at, record } of relations.records(relation, signal))
      project.addRelation(relation, at, () => add(record, at))
  }
  for (const name of relations.names)
    if (!Object.hasOwn(readers, name) && !SETTINGS.includes(name))
      for await (const { at, record } of relations.records(name, signal)) {
        report.addLoss(name, 1, text(record.title) || text(record.name) || undefined)
        // Before GitLab 15.10, the comments on a commit were only in its pipelines.
        if (/^(?:ci_)?pipelines$/.test(name))
          for (const note of list(record.notes))
            project.addRelation('commit_notes', at, () => project.addCommitNote(note))
      }
  return project.finish(relations.project, features)
}

const TIMED_LISTS = ['notes', 'events', 'resource_state_events']

/**
 * Returns an issue or a merge request with its notes and changes of state sorted by time. Exports can have them in any order. Those without
 * a valid time are reported as lost.
 */
function inTimeOrder(record: Json, at: string, report: Report): Json {
  const sorted = TIMED_LISTS.map((key) => {
    const timed: { entry: Json; time: number }[] = []
    for (const entry of list(record[key])) {
      const time = Date.parse(timeOrNull(entry.created_at) ?? '')
      if (!Number.isNaN(time)) timed.push({ entry, time })
      else
        report.addSkippedRecord(
          key,
          `${at}: one of its ${key} has no valid time: ${entry.created_at}`,
        )
    }
    return [key, timed.sort((a, b) => a.time - b.time).map(({ entry }) => entry)]
  })
  return { ...record, ...Object.fromEntries(sorted) }
}

/** Captures the mark of a draft and the rest of its title. */
const DRAFT = /^(\s*(?:\[(?:draft|wip)\]|(?:draft|wip):|\(draft\))\s*)?(.*)$/is

const PERMISSIONS: [atLeast: number, permission: string][] = [
  [ACCESS_LEVELS.maintainer, 'admin'],
  [ACCESS_LEVELS.developer, 'write'],
  [ACCESS_LEVELS.none, 'read'],
]

class ProjectReader extends ProjectRecords {
  readonly #collaborators = new Map<string, string>()
  readonly #maintainers: string[] = []
  readonly #issues = new Set<number>()
  readonly #mergeRequests = new Set<number>()
  readonly #confidential: string[] = []
  /** Digests of the notes on commits. */
  readonly #commitNotes = new Set<string>()
  /** Is added to the numbers of merge requests, because GitLab counts these separately: the highest number of an issue. */
  #offset = 0

  addMember(record: Json): void {
    const user = child(record.user)
    const [username, level] = [text(user.username), Number(record.access_level) || 0]
    if (username === '') {
      this.options.report.addLoss('invitations', 1, text(record.invite_email) || undefined)
      return
    }
    if (!isForeignName(username))
      throw new Error(`user.username is not a login: ${JSON.stringify(username).slice(0, 100)}`)
    const id = integer(user, 'id')
    const email = [text(user.public_email), text(user.email)].find(isEmail) ?? ''
    this.people.addMember(id, { username, email })
    const login = this.people.login(id)!
    this.#collaborators.set(login, PERMISSIONS.find(([atLeast]) => level >= atLeast)![1])
    if (level >= ACCESS_LEVELS.maintainer) this.#maintainers.push(login)
  }

  /** Keeps the numbers of merge requests if no issue has one of them, as in exports that Godwit wrote. Called after all issues are read. */
  async chooseNumbers(): Promise<void> {
    const { relations, signal } = this.options
    // An invalid record is reported when it is read again.
    for await (const { record } of relations.records('merge_requests', signal, () => {}))
      if (this.#issues.has(record.iid as number)) return
    this.#offset = 0
  }

  addIssue(record: Json): void {
    const number = itemNumber(integer(record, 'iid'))
    if (this.#issues.has(number)) throw new Error(`#${number} occurs twice`)
    const on: IssueOrPull = { kind: 'issue', number }
    const common = this.#common(record, on)
    const changes = stateChanges(record)
    const closedAt =
      record.state === 'closed'
        ? (timeOrNull(record.closed_at) ?? lastOf(changes, 'closed') ?? common.updatedAt)
        : null
    this.add('issues', number, { ...common, closedAt })
    if (closedAt !== null && lastOf(changes, 'closed') === undefined)
      changes.push({ state: 'closed', user: record.closed_by_id, at: closedAt })
    addEvents(this, record, on, changes)
    for (const note of list(record.notes)) this.addNote(note, on)
    this.#issues.add(number)
    this.#offset = Math.max(this.#offset, number)
  }

  addMergeRequest(record: Json): void {
    const iid = integer(record, 'iid')
    if (this.#mergeRequests.has(iid)) throw new Error(`!${iid} occurs twice`)
    const number = itemNumber(this.#offset + iid)
    const on: IssueOrPull = { kind: 'pull_request', number }
    const { updatedAt, ...common } = this.#common(record, on)
    const [metrics, diff] = [child(record.metrics), child(record.merge_request_diff)]
    const changes = stateChanges(record)
    const isMerged = record.state === 'merged'
    const timeOf = (state: string, metric: string) =>
      timeOrNull(metrics[metric]) ?? lastOf(changes, state) ?? updatedAt
    const mergedAt = isMerged ? timeOf('merged', 'merged_at') : null
    const closedAt = record.state === 'closed' ? timeOf('closed', 'latest_closed_at') : mergedAt
    const commits = list(diff.merge_request_diff_commits)
    const newest = commits.find((each) => each.relative_order === 0) ?? commits[0]
    const firstSha = (...candidates: unknown[]) => candidates.map(text).find(isSha) ?? NO_COMMIT
    const newestSha = newest?.sha ?? child(newest?.merge_request_commits_metadata).sha
    const { diff_head_sha, source_branch_sha } = record
    const headSha = firstSha(diff.head_commit_sha, diff_head_sha, newestSha, source_branch_sha)
    const isSameProject = record.source_project_id === record.target_project_id
    const [owner = ''] = this.repository.split('/')
    const [, draft, title] = DRAFT.exec(common.title)!
    const mergeCommit = text(record.merge_commit_sha) || text(record.squash_commit_sha) || null
    const isDraft = record.draft === true || record.work_in_progress === true || draft !== undefined
    this.add('pull_requests', number, {
      ...common,
      title: isDraft && title ? title : common.title,
      base: {
        ref: text(record.target_branch),
        sha: firstSha(diff.start_commit_sha, record.target_branch_sha, diff.base_commit_sha),
      },
      head: {
        // An export does not name the fork, which is most often the author's.
        ref: text(record.source_branch),
        sha: headSha,
        owner: isSameProject ? owner : common.author,
        repository: isSameProject ? this.repository : null,
      },
      reviewRequests: readReviews(this, { pull: number, record, headSha }),
      closes: [],
      draft: isDraft,
      mergedAt,
      closedAt,
      mergeCommit: isMerged ? mergeCommit : null,
    })
    const state = isMerged ? 'merged' : 'closed'
    if (closedAt !== null && lastOf(changes, state) === undefined) {
      const user = isMerged
        ? (metrics.merged_by_id ?? record.merge_user_id)
        : metrics.latest_closed_by_id
      changes.push({ state, user, at: closedAt })
    }
    addEvents(this, record, on, changes, mergeCommit)
    this.#mergeRequests.add(iid)
  }

  /** Reads what issues and merge requests have in common. */
  #common(record: Json, on: IssueOrPull) {
    const [updatedAt, by] = [time(record, 'updated_at'), this.authorship(record)]
    const assigned = [...list(record.issue_assignees), ...list(record.merge_request_assignees)]
    const assignees = [record.assignee_id, ...assigned.map(({ user_id }) => user_id)]
    const links = list(record.label_links)
    const labels = links.map(({ label }) => label).filter(isJson)
    this.options.report.addLoss('label_links', links.length - labels.length)
    const body = paragraphs(text(record.description), footerOf(record))
    this.addUploads(body, on, by)
    if (record.confidential === true) this.#confidential.push(`#${on.number}`)
    for (const [key, value] of Object.entries(record))
      if (typeof value === 'object' && value !== null && !READ_PARTS.has(key))
        this.options.report.addLoss(key, Array.isArray(value) ? value.length : 1)
    return {
      repository: this.repository,
      number: on.number,
      ...by,
      title: text(record.title),
      body: body === '' ? null : body,
      assignees: [...new Set(assignees.flatMap((id) => this.people.login(id) ?? []))],
      milestone: isJson(record.milestone) ? this.addMilestone(record.milestone) : null,
      labels: [...new Set(labels.map((label) => this.addLabel(label)))],
      reactions: this.reactions(record),
      updatedAt,
    }
  }

  /** Adds a comment on a commit, unless it is known: each pipeline of a commit has all comments on it. */
  addCommitNote(note: Json): void {
    const commit = text(note.commit_id)
    if (!/^[0-9a-f]{40,64}$/.test(commit)) throw new Error('commit_id is not a commit')
    // Exports since GitLab 13.6 have no ids of notes.
    const key = hash(
      'sha256',
      JSON.stringify([note.id, commit, note.author_id, note.created_at, note.note]),
    )
    if (this.#commitNotes.has(key)) return
    this.#commitNotes.add(key)
    if (note.system === true) {
      this.loseSystemNote(note)
      return
    }
    const [id, by] = [this.nextId(), this.authorship(note)]
    const position = positionOf(note.position) ?? {}
    if (integerOrNull(position.new_line) ?? integerOrNull(position.old_line))
      this.options.report.addLoss('commit_comment_lines')
    this.add('commit_comments', 0, {
      repository: this.repository,
      id,
      commit,
      ...by,
      position: null,
      body: this.noteText(note, { kind: 'commit_comment', commit, id }, by),
      path: text(position.new_path) || text(position.old_path) || null,
      reactions: this.reactions(note),
    })
  }

  addRelease(record: Json): void {
    const tag = text(record.tag)
    if (tag === '') throw new Error('tag is missing')
    const by = this.authorship(record)
    const links = list(record.links).map((each) => `- [${text(each.name)}](${text(each.url)})`)
    const milestones = list(record.milestone_releases).map(({ milestone }) =>
      text(child(milestone).title),
    )
    const footer = milestones.length > 0 ? `*GitLab: milestones ${milestones.join(', ')}*` : ''
    const body = paragraphs(text(record.description), links.join('\n'), footer)
    this.addUploads(body, { kind: 'release', tag }, by)
    this.add('releases', 0, {
      repository: this.repository,
      tag,
      ...by,
      name: text(record.name) || null,
      body,
      draft: false,
      prerelease: false,
      target: text(record.sha),
      assets: [],
      publishedAt: timeOrNull(record.released_at) ?? by.createdAt,
    })
  }

  /** Unless developers may push to the branch, it lists the people who may: GitHub has no roles here. */
  addProtectedBranch(record: Json): void {
    const name = text(record.name)
    if (name === '') throw new Error('name is missing')
    const push = describeAccess(record.push_access_levels)
    const merge = describeAccess(record.merge_access_levels ?? record.push_access_levels)
    const isOpen = push.includes(DEVELOPERS)
    const named = list(record.push_access_levels).flatMap(
      ({ user_id }) => this.people.login(user_id) ?? [],
    )
    const maintainers = push.includes(MAINTAINERS) ? this.#maintainers : []
    // Those of a group are not in an export.
    const isIncomplete = !isOpen && push.includes(MAINTAINERS) && maintainers.length === 0
    const isPartlyLost =
      isIncomplete ||
      merge.join() !== push.join() ||
      push.some((each) => !/^(?:user \d+|role (?:0|30|40))$/.test(each)) ||
      describeAccess(record.unprotect_access_levels).some((each) => each !== MAINTAINERS)
    if (isPartlyLost)
      this.options.report.addLoss('branch_protection_rules', 1, `${this.repository}: ${name}`)
    const empty = emptyProtection(this.repository, name)
    this.add('protected_branches', 0, {
      ...empty,
      repository: this.repository,
      adminEnforced: true,
      allowsForcePushes: record.allow_force_push === true,
      authorizedActorsOnly: !isOpen,
      authorizedUsers: isOpen ? [] : [...new Set([...maintainers, ...named])],
      reviews: { ...empty.reviews, byCodeOwners: record.code_owner_approval_required === true },
    })
  }

  /** Warns in one line, which has a kind of its own, so that the limit of warnings leaves nothing out. */
  #warnOfVisible(what: string, places: readonly string[]): void {
    const kind = `${this.repository}: ${what} of GitLab`
    const why = `${kind} become visible to all who can read issues: ${places.join(', ')}`
    if (places.length > 0) this.options.report.warn(kind, why)
  }

  /** Adds users, milestones and unused uploads, which are known only after everything was read, and returns the repository. */
  finish(project: Json, features: Json): { repository: Repository; names: ProjectNames } {
    const isOn = (feature: string) => features[`${feature}_access_level`] !== FEATURE.off
    const createdAt = Number.isFinite(this.oldest)
      ? new Date(this.oldest).toISOString()
      : UNKNOWN_TIME
    const [owner = '', name = ''] = this.repository.split('/')
    for (const path of this.options.uploads.keys())
      if (!this.uploadUrls.has(path))
        this.addUpload(path, { kind: 'repository' }, { author: null, createdAt })
    for (const milestone of this.milestones.values())
      this.add('milestones', milestone.number, milestone)
    const users = this.people.users()
    if (!users.some(({ login }) => login.toLowerCase() === owner.toLowerCase()))
      users.push(unknownUser(owner))
    for (const user of users) this.add('users', 0, user)
    this.#warnOfVisible('confidential issues', this.#confidential)
    this.#warnOfVisible('internal notes', [...this.internalNotes])
    const why = `${this.repository} is internal in GitLab, and becomes private`
    if (project.visibility_level === VISIBILITY.internal)
      this.options.report.warn('visibility', why)
    const { topics, tag_list } = project
    const named = [topics, tag_list].find(Array.isArray) ?? text(tag_list).split(/,\s*/)
    const repository: Repository = {
      owner,
      name,
      description: text(project.description) || null,
      website: null,
      private: project.visibility_level !== VISIBILITY.public,
      hasIssues: isOn('issues'),
      hasWiki: isOn('wiki'),
      archived: project.archived === true,
      labels: [...this.labels.values()],
      collaborators: [...this.#collaborators].map(([login, permission]) => ({ login, permission })),
      topics: named
        .map((each) => ({ name: text(isJson(each) ? each.name : each), creator: owner }))
        .filter(({ name }) => name !== '')
        .map((each) => ({ ...each, createdAt, updatedAt: createdAt })),
      defaultBranch: text(project.default_branch) || null,
      createdAt,
      git: `repositories/${this.repository}.git`,
    }
    this.commit()
    const milestones = [...this.milestones.values()]
    return {
      repository,
      names: {
        fullName: this.repository,
        offset: this.#offset,
        mergeRequests: this.#mergeRequests,
        labels: new Set(this.labels.keys()),
        logins: this.people.loginsByUsername(),
        milestones: new Map(
          milestones.flatMap(({ title, number }) =>
            [String(number), title].map((key) => [key, title]),
          ),
        ),
        uploads: this.uploadUrls,
      },
    }
  }
}

const DEVELOPERS = `role ${ACCESS_LEVELS.developer}`
const MAINTAINERS = `role ${ACCESS_LEVELS.maintainer}`

/** Describes each role, user, group and deploy key that has access. A level is that of a role only if nobody is named. */
function describeAccess(levels: unknown): string[] {
  const described = list(levels).map(({ access_level, user_id, group_id, deploy_key_id }) => {
    if (user_id != null) return `user ${user_id}`
    if (group_id != null) return `group ${group_id}`
    return deploy_key_id != null ? `deploy key ${deploy_key_id}` : `role ${access_level}`
  })
  return [...new Set(described)].sort()
}

/** Returns a line of text with the fields that GitHub and Gitea do not have, or ''. */
function footerOf(record: Json): string {
  const timelogs = list(record.timelogs)
  const spent = timelogs.reduce((sum, each) => sum + (Number(each.time_spent) || 0), 0)
  const work = timelogs.map(({ summary }) => text(summary).replace(/\s+/g, ' ').trim())
  const type = text(record.issue_type) || text(child(record.work_item_type).base_type)
  const records = [
    type !== 'issue' && type.replaceAll('_', ' '),
    record.confidential === true && 'confidential',
    text(record.due_date) && `due ${text(record.due_date)}`,
    typeof record.weight === 'number' && `weight ${record.weight}`,
    text(record.health_status).replaceAll('_', ' '),
    Number(record.time_estimate) > 0 && `estimated ${duration(Number(record.time_estimate))}`,
    spent > 0 && `spent ${duration(spent)}`,
    work.some(Boolean) && `time spent on: ${work.filter(Boolean).join('; ')}`,
  ].filter((each) => typeof each === 'string' && each !== '')
  return records.length === 0 ? '' : `*GitLab: ${records.join(', ')}*`
}

function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.round((seconds % 3600) / 60)]
  return [hours > 0 && `${hours}h`, minutes > 0 && `${minutes}m`].filter(Boolean).join(' ') || '0m'
}

function itemNumber(number: number): number {
  if (number > MAX_ITEM_NUMBER) throw new Error(`the number ${number} is too large`)
  return number
}
