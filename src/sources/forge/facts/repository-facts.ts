import {
  emptyProtection,
  type Label,
  type Milestone,
  type ProtectedBranch,
  type Repository,
} from '../../../records/repository.ts'

import {
  booleanIn,
  integerIn,
  type JsonObject,
  stringIn,
  stringOrNull,
  stringsIn,
  timeIn,
  timeOrNull,
} from '../client/forge-values.ts'
import { labelColor } from './issue-facts.ts'
import { slugOf } from './people-facts.ts'

interface RepositoryResponses {
  repository: JsonObject
  owner: string
  name: string
  /** The labels of the repository, then those of the organization that owns it. */
  labels: readonly JsonObject[]
  collaborators: readonly { login: string; permission: string }[]
}

export function repositoryFact(responses: RepositoryResponses): Repository {
  const { repository, owner, name, labels, collaborators } = responses
  const createdAt = timeIn(repository, 'created_at')
  return {
    owner,
    name,
    description: stringOrNull(repository, 'description'),
    website: stringOrNull(repository, 'website'),
    private: booleanIn(repository, 'private') || booleanIn(repository, 'internal'),
    hasIssues: booleanIn(repository, 'has_issues'),
    hasWiki: booleanIn(repository, 'has_wiki'),
    archived: booleanIn(repository, 'archived'),
    template: booleanIn(repository, 'template'),
    labels: labelFacts(labels, createdAt),
    collaborators,
    topics: stringsIn(repository, 'topics').map((topic) => ({
      name: topic,
      creator: null,
      createdAt,
      updatedAt: createdAt,
    })),
    defaultBranch: booleanIn(repository, 'empty')
      ? null
      : stringOrNull(repository, 'default_branch'),
    createdAt,
    git: `repositories/${owner}/${name}.git`,
  }
}

/** Issues refer to labels by name, so a label of the organization is left out if the repository has one of the same name. */
function labelFacts(labels: readonly JsonObject[], createdAt: string): Label[] {
  const byName = new Map<string, Label>()
  for (const label of labels) {
    const name = stringIn(label, 'name')
    if (name === '' || byName.has(name)) continue
    const description = stringOrNull(label, 'description')
    byName.set(name, { name, color: labelColor(label), description, createdAt })
  }
  return [...byName.values()]
}

export const milestoneFact = (repository: string, milestone: JsonObject): Milestone => {
  const isClosed = stringIn(milestone, 'state') === 'closed'
  const createdAt = timeIn(milestone, 'created_at')
  return {
    repository,
    number: integerIn(milestone, 'id'),
    author: null,
    title: stringIn(milestone, 'title'),
    description: stringOrNull(milestone, 'description'),
    state: isClosed ? 'closed' : 'open',
    dueOn: timeOrNull(milestone, 'due_on'),
    createdAt,
    updatedAt: timeOrNull(milestone, 'updated_at') ?? createdAt,
    closedAt: isClosed ? timeOrNull(milestone, 'closed_at') : null,
  }
}

/** Gitea's lists of users who may only merge, and its file patterns, are only in `forgeRule`, because GitHub has no equivalent. */
export function protectedBranchFact(repository: string, rule: JsonObject): ProtectedBranch {
  const [organization = ''] = repository.split('/')
  const { created_at, updated_at, ...forgeRule } = rule
  const teams = (names: readonly string[]) =>
    names.map((name) => ({ organization, slug: slugOf(name) }))
  const approvals = integerIn(rule, 'required_approvals')
  const hasChecks = booleanIn(rule, 'enable_status_check')
  const empty = emptyProtection(
    repository,
    stringIn(rule, 'rule_name') || stringIn(rule, 'branch_name'),
  )
  return {
    ...empty,
    adminEnforced: booleanIn(rule, 'block_admin_merge_override'),
    allowsForcePushes: booleanIn(rule, 'enable_force_push'),
    authorizedActorsOnly:
      !booleanIn(rule, 'enable_push') || booleanIn(rule, 'enable_push_whitelist'),
    authorizedUsers: stringsIn(rule, 'push_whitelist_usernames'),
    authorizedTeams: teams(stringsIn(rule, 'push_whitelist_teams')),
    reviews: {
      ...empty.reviews,
      enforcement: approvals > 0 ? 'non_admins' : 'off',
      required: approvals > 0,
      approvals,
      dismissStaleOnPush: booleanIn(rule, 'dismiss_stale_approvals'),
    },
    statusChecks: {
      enforcement: hasChecks ? 'non_admins' : 'off',
      required: hasChecks,
      strict: booleanIn(rule, 'block_on_outdated_branch'),
      contexts: stringsIn(rule, 'status_check_contexts'),
    },
    requiresSignatures: booleanIn(rule, 'require_signed_commits'),
    forgeRule,
  }
}
