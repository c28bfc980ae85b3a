import { count, list, oneOf, type Shape } from '../lib/json-shape.ts'
import {
  id,
  linkOrNull,
  login,
  person,
  repositoryName,
  storedPath,
  team,
} from './read-addresses.ts'
import { addressInArchive, type Links } from './record-addresses.ts'
import {
  anyBoolean,
  anyString,
  type FieldReader,
  ifPresent,
  objectOf,
  optional,
  orElse,
  textOrNull,
  timeOrUnknown,
} from './record-shapes.ts'
import type {
  Enforcement,
  Label,
  Milestone,
  ProtectedBranch,
  Repository,
  Topic,
} from './repository.ts'

export function readRepository(field: FieldReader): Repository {
  return {
    owner: field('owner', login),
    name: field('name', anyString),
    description: field('description', textOrNull),
    website: field('website', textOrNull),
    private: field('private', anyBoolean),
    hasIssues: field('has_issues', optional(anyBoolean)),
    hasWiki: field('has_wiki', optional(anyBoolean)),
    hasDownloads: field('has_downloads', optional(anyBoolean)),
    archived: field('is_archived', optional(anyBoolean)),
    labels: field('labels', orElse(list(label), [])),
    collaborators: field('collaborators', orElse(list(collaborator), [])),
    topics: field('repository_topics', optional(list(topic))),
    defaultBranch: field('default_branch', textOrNull),
    createdAt: field('created_at', anyString),
    git: field('git_url', storedPath),
    wiki: field('wiki_url', ifPresent(linkOrNull(storedPath))),
  }
}

const label = objectOf(
  (field): Label => ({
    name: field('name', anyString),
    color: field('color', anyString),
    description: field('description', textOrNull),
    createdAt: field('created_at', timeOrUnknown),
  }),
)

const collaborator = objectOf((field) => ({
  login: field('user', login),
  permission: field('permission', anyString),
}))

const topic = objectOf((field): Topic => {
  const createdAt = field('created_at', timeOrUnknown)
  return {
    name: field('topic_name', anyString),
    creator: field('creator', person),
    createdAt,
    updatedAt: field('updated_at', orElse(anyString, createdAt)),
  }
})

export function writeRepository(repository: Repository, links: Links) {
  const fullName = `${repository.owner}/${repository.name}`
  const url = links.repository(fullName)
  return {
    type: 'repository',
    url,
    owner: links.person(repository.owner),
    name: repository.name,
    description: repository.description,
    website: repository.website,
    private: repository.private,
    has_issues: repository.hasIssues,
    has_wiki: repository.hasWiki,
    has_downloads: repository.hasDownloads,
    is_archived: repository.archived,
    labels: repository.labels.map(({ name, color, description, createdAt }) => ({
      url: links.label(fullName, name),
      name,
      color,
      description,
      created_at: createdAt,
    })),
    collaborators: repository.collaborators.map(({ login, permission }) => ({
      user: links.person(login),
      permission,
    })),
    created_at: repository.createdAt,
    git_url: addressInArchive(repository.git),
    default_branch: repository.defaultBranch,
    webhooks: [],
    page: null,
    public_keys: [],
    repository_topics: repository.topics?.map(({ name, creator, createdAt, updatedAt }) => ({
      topic_url: null,
      topic_name: name,
      repository: url,
      creator: links.person(creator),
      state: 'created',
      created_at: createdAt,
      updated_at: updatedAt,
    })),
    wiki_url: repository.wiki == null ? repository.wiki : addressInArchive(repository.wiki),
  }
}

export function readMilestone(field: FieldReader): Milestone {
  const createdAt = field('created_at', anyString)
  return {
    repository: field('repository', repositoryName),
    number: field('url', id),
    author: field('user', person),
    title: field('title', anyString),
    description: field('description', textOrNull),
    state: field('state', oneOf('open', 'closed')),
    dueOn: field('due_on', textOrNull),
    createdAt,
    updatedAt: field('updated_at', orElse(anyString, createdAt)),
    closedAt: field('closed_at', textOrNull),
  }
}

export function writeMilestone(milestone: Milestone, links: Links) {
  return {
    type: 'milestone',
    url: links.milestone(milestone.repository, milestone.number),
    repository: links.repository(milestone.repository),
    user: links.person(milestone.author),
    title: milestone.title,
    description: milestone.description,
    state: milestone.state,
    due_on: milestone.dueOn,
    created_at: milestone.createdAt,
    updated_at: milestone.updatedAt,
    closed_at: milestone.closedAt,
  }
}

/** A rule that is absent does not apply. */
const ruled = orElse(anyBoolean, false)
const enforcement: Shape<Enforcement> = orElse(oneOf('off', 'non_admins', 'everyone'), 'off')
const logins = orElse(list(login), [])
const teams = orElse(list(team), [])
const context: Shape<string> = (value, at) =>
  typeof value === 'object'
    ? objectOf((field) => field('context', anyString))(value, at)
    : anyString(value, at)

export function readProtectedBranch(field: FieldReader): ProtectedBranch {
  return {
    repository: field('repository_url', repositoryName),
    name: field('name', anyString),
    creator: field('creator_url', person),
    adminEnforced: field('admin_enforced', ruled),
    allowsForcePushes: field('allows_force_pushes', ruled),
    allowsDeletions: field('allows_deletions', ruled),
    authorizedActorsOnly: field('authorized_actors_only', ruled),
    authorizedUsers: field('authorized_user_urls', logins),
    authorizedTeams: field('authorized_team_urls', teams),
    reviews: {
      enforcement: field('pull_request_reviews_enforcement_level', enforcement),
      required: field('requires_approving_reviews', ruled),
      approvals: field('required_approving_review_count', orElse(count(), 0)),
      dismissStaleOnPush: field('dismiss_stale_reviews_on_push', ruled),
      byCodeOwners: field('require_code_owner_review', ruled),
      restrictsDismissals: field('restricts_review_dismissals', ruled),
      dismissalUsers: field('dismissal_restricted_user_urls', logins),
      dismissalTeams: field('dismissal_restricted_team_urls', teams),
    },
    statusChecks: {
      enforcement: field('required_status_checks_enforcement_level', enforcement),
      required: field('requires_status_checks', ruled),
      strict: field('strict_required_status_checks_policy', ruled),
      contexts: field('required_status_checks', orElse(list(context), [])),
    },
    requiresSignatures: field('requires_commit_signatures', ruled),
    requiresLinearHistory: field('requires_linear_history', ruled),
  }
}

/** The enforcement level `everyone` as a number. */
const BLOCKED = 2

export function writeProtectedBranch(branch: ProtectedBranch, links: Links) {
  const { reviews, statusChecks } = branch
  return {
    type: 'protected_branch',
    name: branch.name,
    url: links.protectedBranch(branch.repository, branch.name),
    creator_url: links.person(branch.creator),
    repository_url: links.repository(branch.repository),
    admin_enforced: branch.adminEnforced,
    block_deletions_enforcement_level: branch.allowsDeletions ? 0 : BLOCKED,
    block_force_pushes_enforcement_level: branch.allowsForcePushes ? 0 : BLOCKED,
    dismiss_stale_reviews_on_push: reviews.dismissStaleOnPush,
    pull_request_reviews_enforcement_level: reviews.enforcement,
    require_code_owner_review: reviews.byCodeOwners,
    required_status_checks_enforcement_level: statusChecks.enforcement,
    strict_required_status_checks_policy: statusChecks.strict,
    authorized_actors_only: branch.authorizedActorsOnly,
    authorized_user_urls: branch.authorizedUsers.map(links.person),
    authorized_team_urls: branch.authorizedTeams.map(links.team),
    dismissal_restricted_user_urls: reviews.dismissalUsers.map(links.person),
    dismissal_restricted_team_urls: reviews.dismissalTeams.map(links.team),
    required_status_checks: statusChecks.contexts,
    requires_approving_reviews: reviews.required,
    required_approving_review_count: reviews.approvals,
    requires_commit_signatures: branch.requiresSignatures,
    requires_linear_history: branch.requiresLinearHistory,
    allows_force_pushes: branch.allowsForcePushes,
    allows_deletions: branch.allowsDeletions,
    requires_status_checks: statusChecks.required,
    restricts_review_dismissals: reviews.restrictsDismissals,
  }
}
