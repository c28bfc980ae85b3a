import { anyObject, count, list, oneOf, type Shape } from '../lib/json-shape.ts'
import {
  anyBoolean,
  anyString,
  booleanOrFalse,
  type FieldReader,
  ifPresent,
  listOrEmpty,
  objectOf,
  optional,
  stringOrNull,
  timeOrUnknown,
  withDefault,
} from './field-reader.ts'
import * as url from './parse-urls.ts'
import { type RecordUrls, urlInArchive } from './record-urls.ts'
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
    owner: field('owner', url.login),
    name: field('name', anyString),
    description: field('description', stringOrNull),
    website: field('website', stringOrNull),
    private: field('private', anyBoolean),
    hasIssues: field('has_issues', optional(anyBoolean)),
    hasWiki: field('has_wiki', optional(anyBoolean)),
    hasDownloads: field('has_downloads', optional(anyBoolean)),
    archived: field('is_archived', optional(anyBoolean)),
    template: field('general_settings', optional(templateSetting)),
    labels: field('labels', listOrEmpty(label)),
    collaborators: field('collaborators', listOrEmpty(collaborator)),
    topics: field('repository_topics', optional(list(topic))),
    defaultBranch: field('default_branch', stringOrNull),
    createdAt: field('created_at', anyString),
    git: field('git_url', url.storedPath),
    wiki: field('wiki_url', ifPresent(url.orNull(url.storedPath))),
  }
}

const templateSetting = objectOf((field) => field('template', optional(anyBoolean)))

const label = objectOf(
  (field): Label => ({
    name: field('name', anyString),
    color: field('color', anyString),
    description: field('description', stringOrNull),
    createdAt: field('created_at', timeOrUnknown),
  }),
)

const collaborator = objectOf((field) => ({
  login: field('user', url.login),
  permission: field('permission', anyString),
}))

const topic = objectOf((field): Topic => {
  const createdAt = field('created_at', timeOrUnknown)
  return {
    name: field('topic_name', anyString),
    creator: field('creator', url.loginOrNull),
    createdAt,
    updatedAt: field('updated_at', withDefault(anyString, createdAt)),
  }
})

export function repositoryRecord(repository: Repository, urls: RecordUrls) {
  const { template } = repository
  const fullName = `${repository.owner}/${repository.name}`
  const repositoryUrl = urls.repository(fullName)
  return {
    type: 'repository',
    url: repositoryUrl,
    owner: urls.person(repository.owner),
    name: repository.name,
    description: repository.description,
    website: repository.website,
    private: repository.private,
    has_issues: repository.hasIssues,
    has_wiki: repository.hasWiki,
    has_downloads: repository.hasDownloads,
    is_archived: repository.archived,
    labels: repository.labels.map(({ name, color, description, createdAt }) => ({
      url: urls.label(fullName, name),
      name,
      color,
      description,
      created_at: createdAt,
    })),
    collaborators: repository.collaborators.map(({ login, permission }) => ({
      user: urls.person(login),
      permission,
    })),
    created_at: repository.createdAt,
    git_url: urlInArchive(repository.git),
    default_branch: repository.defaultBranch,
    webhooks: [],
    page: null,
    public_keys: [],
    repository_topics: repository.topics?.map(({ name, creator, createdAt, updatedAt }) => ({
      topic_url: null,
      topic_name: name,
      repository: repositoryUrl,
      creator: urls.person(creator),
      state: 'created',
      created_at: createdAt,
      updated_at: updatedAt,
    })),
    general_settings: template === undefined ? undefined : { template },
    wiki_url: repository.wiki == null ? repository.wiki : urlInArchive(repository.wiki),
  }
}

export function readMilestone(field: FieldReader): Milestone {
  const createdAt = field('created_at', anyString)
  return {
    repository: field('repository', url.repositoryName),
    number: field('url', url.id),
    author: field('user', url.loginOrNull),
    title: field('title', anyString),
    description: field('description', stringOrNull),
    state: field('state', oneOf('open', 'closed')),
    dueOn: field('due_on', stringOrNull),
    createdAt,
    updatedAt: field('updated_at', withDefault(anyString, createdAt)),
    closedAt: field('closed_at', stringOrNull),
  }
}

export function milestoneRecord(milestone: Milestone, urls: RecordUrls) {
  return {
    type: 'milestone',
    url: urls.milestone(milestone.repository, milestone.number),
    repository: urls.repository(milestone.repository),
    user: urls.person(milestone.author),
    title: milestone.title,
    description: milestone.description,
    state: milestone.state,
    due_on: milestone.dueOn,
    created_at: milestone.createdAt,
    updated_at: milestone.updatedAt,
    closed_at: milestone.closedAt,
  }
}

const enforcement: Shape<Enforcement> = withDefault(oneOf('off', 'non_admins', 'everyone'), 'off')
const logins = listOrEmpty(url.login)
const teams = listOrEmpty(url.team)
const context: Shape<string> = (value, at) =>
  typeof value === 'object'
    ? objectOf((field) => field('context', anyString))(value, at)
    : anyString(value, at)

export function readProtectedBranch(field: FieldReader): ProtectedBranch {
  return {
    repository: field('repository_url', url.repositoryName),
    name: field('name', anyString),
    creator: field('creator_url', url.loginOrNull),
    adminEnforced: field('admin_enforced', booleanOrFalse),
    allowsForcePushes: field('allows_force_pushes', booleanOrFalse),
    allowsDeletions: field('allows_deletions', booleanOrFalse),
    authorizedActorsOnly: field('authorized_actors_only', booleanOrFalse),
    authorizedUsers: field('authorized_user_urls', logins),
    authorizedTeams: field('authorized_team_urls', teams),
    reviews: {
      enforcement: field('pull_request_reviews_enforcement_level', enforcement),
      required: field('requires_approving_reviews', booleanOrFalse),
      approvals: field('required_approving_review_count', withDefault(count(), 0)),
      dismissStaleOnPush: field('dismiss_stale_reviews_on_push', booleanOrFalse),
      byCodeOwners: field('require_code_owner_review', booleanOrFalse),
      restrictsDismissals: field('restricts_review_dismissals', booleanOrFalse),
      dismissalUsers: field('dismissal_restricted_user_urls', logins),
      dismissalTeams: field('dismissal_restricted_team_urls', teams),
    },
    statusChecks: {
      enforcement: field('required_status_checks_enforcement_level', enforcement),
      required: field('requires_status_checks', booleanOrFalse),
      strict: field('strict_required_status_checks_policy', booleanOrFalse),
      contexts: field('required_status_checks', listOrEmpty(context)),
    },
    requiresSignatures: field('requires_commit_signatures', booleanOrFalse),
    requiresLinearHistory: field('requires_linear_history', booleanOrFalse),
    forgeRule: field('forge_rule', optional(anyObject)),
  }
}

/** The number of the enforcement level `everyone`. */
const ENFORCED_FOR_EVERYONE = 2

export function protectedBranchRecord(branch: ProtectedBranch, urls: RecordUrls) {
  const { reviews, statusChecks } = branch
  return {
    type: 'protected_branch',
    name: branch.name,
    url: urls.protectedBranch(branch.repository, branch.name),
    creator_url: urls.person(branch.creator),
    repository_url: urls.repository(branch.repository),
    admin_enforced: branch.adminEnforced,
    block_deletions_enforcement_level: branch.allowsDeletions ? 0 : ENFORCED_FOR_EVERYONE,
    block_force_pushes_enforcement_level: branch.allowsForcePushes ? 0 : ENFORCED_FOR_EVERYONE,
    dismiss_stale_reviews_on_push: reviews.dismissStaleOnPush,
    pull_request_reviews_enforcement_level: reviews.enforcement,
    require_code_owner_review: reviews.byCodeOwners,
    required_status_checks_enforcement_level: statusChecks.enforcement,
    strict_required_status_checks_policy: statusChecks.strict,
    authorized_actors_only: branch.authorizedActorsOnly,
    authorized_user_urls: branch.authorizedUsers.map(urls.person),
    authorized_team_urls: branch.authorizedTeams.map(urls.team),
    dismissal_restricted_user_urls: reviews.dismissalUsers.map(urls.person),
    dismissal_restricted_team_urls: reviews.dismissalTeams.map(urls.team),
    required_status_checks: statusChecks.contexts,
    requires_approving_reviews: reviews.required,
    required_approving_review_count: reviews.approvals,
    requires_commit_signatures: branch.requiresSignatures,
    requires_linear_history: branch.requiresLinearHistory,
    allows_force_pushes: branch.allowsForcePushes,
    allows_deletions: branch.allowsDeletions,
    requires_status_checks: statusChecks.required,
    restricts_review_dismissals: reviews.restrictsDismissals,
    // GitHub's archives do not have this field.
    forge_rule: branch.forgeRule,
  }
}
