import type { ProtectedBranch } from '../../records/repository.ts'
import { ACCESS_LEVELS, FEATURE, VISIBILITY } from './constants.ts'
import { issueRecord, noteRecord } from './write-discussions.ts'
import { type Project, timestamps } from './write-project.ts'

const { none, guest, developer, maintainer } = ACCESS_LEVELS

/** Returns `tree/project.json`. GitLab has no attributes for the topics and the website. */
export function projectRecord({ repository, report, fullName }: Project) {
  const { name, description, defaultBranch, archived = false, topics = [], website } = repository
  report.lost('topics', topics.length, `${fullName}: ${topics.map((each) => each.name).join(', ')}`)
  report.lost('websites', website ? 1 : 0, `${fullName}: ${website}`)
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

export function* issues(project: Project, signal: AbortSignal) {
  for (const issue of project.items('issues')) {
    signal.throwIfAborted()
    yield issueRecord(project, issue)
  }
}

/** Reports facts of issues and pull requests that are not in the input. */
export function reportOrphans(project: Project): void {
  for (const kind of ['issue_comments', 'issue_events'] as const)
    for (const { on, id } of project.all(kind))
      if (!project.hasItem(on.number))
        project.loseRecord(kind, `${kind} ${id}: #${on.number} is not in the input`)
  for (const kind of ['pull_request_reviews', 'pull_request_review_comments'] as const)
    for (const { pull, id } of project.all(kind))
      if (!project.has('pull_requests', pull))
        project.loseRecord(kind, `${kind} ${id}: #${pull} is not in the input`)
}

/** Yields comments on commits. Their position in the diff becomes text. Exports have no reactions to these comments. */
export function* commitNotes(project: Project) {
  for (const comment of project.all('commit_comments')) {
    const { id, commit, author, path, position, createdAt, reactions } = comment
    const where =
      path === null ? '' : `\`${path}\`${position ? `, line ${position} of its diff` : ''}:\n\n`
    project.report.lost('commit_comment_positions', path === null ? 0 : 1)
    project.report.lost('commit_comment_reactions', reactions.length)
    const body = where + project.text(comment.body)
    const note = noteRecord(project, 'Commit', {
      thread: `commit comment ${id}`,
      author,
      body,
      createdAt,
    })
    yield { ...note, award_emoji: undefined, commit_id: commit }
  }
}

export function* protectedBranches(project: Project) {
  for (const branch of project.all('protected_branches')) {
    if (isPartlyLost(branch))
      project.report.lost('branch_protection_rules', 1, `${project.fullName}: ${branch.name}`)
    // GitLab requires neither reviews nor checks here, but a branch that nobody can push to requires merge requests.
    const needsMergeRequest = branch.reviews.required || branch.statusChecks.required
    const merge = branch.authorizedActorsOnly ? maintainer : developer
    const push = needsMergeRequest ? (branch.adminEnforced ? none : maintainer) : merge
    yield {
      name: branch.name,
      allow_force_push: branch.allowsForcePushes,
      code_owner_approval_required: branch.reviews.byCodeOwners,
      push_access_levels: [{ access_level: push }],
      merge_access_levels: [{ access_level: merge }],
    }
  }
}

/** Returns whether a rule says more than who may push and merge. */
function isPartlyLost(branch: ProtectedBranch): boolean {
  const { reviews, statusChecks, requiresSignatures, requiresLinearHistory } = branch
  return (
    [reviews.required, statusChecks.required, requiresSignatures, requiresLinearHistory].some(
      Boolean,
    ) || branch.authorizedUsers.length + branch.authorizedTeams.length > 0
  )
}

/** Yields the accounts that an importer can find. It makes all of them members, so by default they get the lowest level. */
export function* members(project: Project) {
  const collaborators = project.repository.collaborators.filter(({ login }) =>
    project.hasEmail(login),
  )
  for (const { login } of collaborators) project.userId(login)
  project.report.lost(
    'collaborators',
    project.repository.collaborators.length - collaborators.length,
  )
  for (const { id, login, email, accessLevel = guest } of project.members())
    yield {
      access_level: accessLevel,
      user_id: id,
      source_type: 'Project',
      notification_level: 3,
      ...timestamps(project.repository.createdAt),
      // Servers until 13.5 read `email`.
      user: { id, username: login, public_email: email, email },
    }
}
