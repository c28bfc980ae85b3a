import { isSha } from '@godwit/git/commits-and-refs'
import type { IssueEvent } from '../../records/issue.ts'
import type { IssueOrPull } from '../../records/record.ts'
import type { ProjectRecords } from './project-records.ts'
import { actionOf, child, isJson, type Json, list, text, time } from './read-relations.ts'

/** Old exports have GitLab's numbers instead of the names of actions. */
const STATE_BY_ACTION: Readonly<Record<string, string>> = {
  3: 'closed',
  4: 'reopened',
  7: 'merged',
}
const STATES = ['closed', 'reopened', 'merged']

type StateChange = { state: string; user: unknown; at: string; commit?: string }

/** Two records of one change differ by less than this, because GitLab writes them one after the other. */
const SAME_CHANGE_MS = 60_000

/**
 * Reads when and by whom something was closed, reopened or merged, oldest first. GitLab 13 and newer record state events. What
 * happened before is only in other events, or else in notes.
 */
export function stateChanges(record: Json): StateChange[] {
  const change = (state: unknown, user: unknown, each: Json): StateChange[] => {
    if (!STATES.includes(text(state))) return []
    const commit = text(each.source_commit)
    const by = isSha(commit) ? { commit } : {}
    return [{ state: text(state), user, at: time(each, 'created_at'), ...by }]
  }
  const states = list(record.resource_state_events).flatMap((each) =>
    change(each.state === 'opened' ? 'reopened' : each.state, each.user_id, each),
  )
  const events = list(record.events).flatMap((each) =>
    change(STATE_BY_ACTION[String(each.action)] ?? each.action, each.author_id, each),
  )
  const notes = list(record.notes).flatMap((each) => {
    const action = actionOf(each)
    return change(action === 'opened' ? 'reopened' : action, each.author_id, each)
  })
  const [first] = states
  const older = (events.length > 0 ? events : notes).filter(({ state, at }) => {
    const ageMs = first ? Date.parse(first.at) - Date.parse(at) : Number.POSITIVE_INFINITY
    return ageMs > (state === first?.state ? SAME_CHANGE_MS : 0)
  })
  return [...older, ...states]
}

/** Returns when something got this state for the last time. */
export const lastOf = (changes: readonly StateChange[], state: string): string | undefined =>
  changes.findLast((each) => each.state === state)?.at

/** Adds the events of an issue or a merge request. `mergeCommit` is set if it was merged by one. */
export function addEvents(
  project: ProjectRecords,
  record: Json,
  on: IssueOrPull,
  changes: readonly StateChange[],
  mergeCommit: string | null = null,
) {
  const { report } = project.options
  const add = (user: unknown, event: string, createdAt: string, more: Partial<IssueEvent> = {}) =>
    project.addEvent(on, { actor: project.people.login(user), event, createdAt, ...more })
  const commitRepository = project.repository
  for (const { state, user, at, commit } of changes) {
    if (state === 'merged') add(user, state, at, { commit: mergeCommit, commitRepository })
    // A merged pull request of GitHub has both events.
    const by = state === 'closed' && commit ? { commit, commitRepository } : {}
    add(user, state === 'merged' ? 'closed' : state, at, by)
  }
  for (const each of list(record.resource_label_events)) {
    if (!isJson(each.label)) {
      report.addLoss('resource_label_events', 1, 'the label was deleted')
      continue
    }
    const { color } = project.labels.get(project.addLabel(each.label))!
    const label = { name: text(each.label.title), color, textColor: '' }
    const event = each.action === 'remove' ? 'unlabeled' : 'labeled'
    add(each.user_id, event, time(each, 'created_at'), { label })
  }
  for (const each of list(record.resource_milestone_events)) {
    const event = each.action === 'remove' ? 'demilestoned' : 'milestoned'
    const milestoneTitle = text(child(each.milestone).title)
    if (milestoneTitle === '') report.addLoss('resource_milestone_events')
    else add(each.user_id, event, time(each, 'created_at'), { milestoneTitle })
  }
  // Without a system note, it is not known who locked it.
  const lockNote = list(record.notes).findLast((note) => /^(?:un)?locked$/.test(actionOf(note)))
  if (record.discussion_locked === true && (!lockNote || actionOf(lockNote) === 'unlocked'))
    add(null, 'locked', time(record, 'updated_at'))
}
